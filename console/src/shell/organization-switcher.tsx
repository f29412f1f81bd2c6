import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Check, ChevronsUpDown } from 'lucide-react'
import { organizationQuery } from '../api/session.ts'
import { Menu, MenuItem, MenuLabel } from '../components/menu.tsx'
import { organizationsQuery, useSwitchOrganization } from '../domain/session/organizations.ts'
import { text } from '../text/index.ts'

/** The current organization; a menu for members of several organizations. */
export function OrganizationSwitcher() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const { data: organizations = [] } = useQuery(organizationsQuery)
  const change = useSwitchOrganization()
  const face = (
    <>
      <span
        aria-hidden
        className="grid size-6 shrink-0 place-items-center rounded bg-accent-soft text-xs font-semibold text-accent"
      >
        {organization.name.slice(0, 1).toUpperCase()}
      </span>
      <span className="grid min-w-0 text-left leading-tight">
        <span className="truncate font-medium">{organization.name}</span>
        <span className="text-xs text-muted">{text.shell.role[organization.role]}</span>
      </span>
    </>
  )
  if (organizations.length < 2) return <div className="flex items-center gap-2.5 px-2.5 py-1">{face}</div>
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="flex items-center gap-2.5 rounded-md px-2.5 py-1 hover:bg-subtle">
          {face}
          <ChevronsUpDown aria-hidden className="ml-auto size-4 shrink-0 text-muted" />
        </button>
      }
    >
      <MenuLabel>{text.shell.switchOrganization}</MenuLabel>
      {organizations.map((one) => (
        <MenuItem key={one.id} onSelect={() => !one.current && change.mutate(one)}>
          <span className="grid">
            {one.name}
            <span className="text-xs text-muted">{text.shell.role[one.role]}</span>
          </span>
          {one.current && <Check aria-hidden className="ml-auto" />}
        </MenuItem>
      ))}
    </Menu>
  )
}
