import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { EllipsisVertical, SearchX } from 'lucide-react'
import { useState } from 'react'
import { useCan, useSession } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { Section } from '../../components/page.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { useSearchDraft } from '../../components/use-search-draft.ts'
import type { OrganizationPerson } from '../../contract.ts'
import { formatDay, formatNumber, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { peopleQuery } from '../../domain/members/queries.ts'
import { useManagedRoles } from './managed-roles.ts'
import type { ManagedMember } from './managed-roles.ts'
import { RemoveMemberDialog } from './remove-member-dialog.tsx'
import { RoleDialog } from './role-dialog.tsx'

/** Members with roles, and a menu for manageable ones. `services` false leaves programs out. */
export function MemberTable({ services }: { services: boolean }) {
  const { q } = useSearch({ from: '/app/organization' })
  const navigate = useNavigate({ from: '/organization' })
  const people = useQuery(peopleQuery(q, services))
  const [draft, setDraft] = useSearchDraft(
    q ?? '',
    (text) =>
      void navigate({ search: (before) => ({ ...before, q: text.trim() || undefined }), replace: true }),
  )
  return (
    <div className="grid gap-3">
      <search className="flex">
        <SearchInput label={text.organization.searchMembers} value={draft} onChange={setDraft} />
      </search>
      <Section flush>
        {people.data ? (
          people.data.items.length === 0 ? (
            <EmptyState icon={<SearchX />} title={text.organization.members}>
              {text.organization.noMatch}
            </EmptyState>
          ) : (
            <People people={people.data.items} total={people.data.total} />
          )
        ) : people.error ? (
          <ErrorState error={people.error} onRetry={() => void people.refetch()} />
        ) : (
          <SkeletonRows count={3} />
        )}
      </Section>
    </div>
  )
}

function People({ people, total }: { people: OrganizationPerson[]; total: number }) {
  const showsActivity = useCan()('manageMembers')
  const { user } = useSession()
  return (
    <>
      <Table
        label={text.organization.members}
        head={
          <>
            <HeadCell>{text.organization.name}</HeadCell>
            <HeadCell>{text.organization.role}</HeadCell>
            {showsActivity && (
              <>
                <HeadCell className="hidden md:table-cell">{text.organization.lastActive}</HeadCell>
                <HeadCell className="hidden sm:table-cell">{text.organization.joined}</HeadCell>
              </>
            )}
            <HeadCell>
              <span className="sr-only">{text.organization.actions}</span>
            </HeadCell>
          </>
        }
      >
        {people.map((person) => (
          <tr key={person.id}>
            <Cell className="w-full max-w-0">
              <div className="flex items-center gap-2">
                <span className="truncate font-medium" title={person.name ?? undefined}>
                  {person.name}
                </span>
                {person.kind === 'service' && <Badge>{text.serviceMembers.badge}</Badge>}
                {person.user_id === user.id && <Badge tone="accent">{text.organization.you}</Badge>}
              </div>
              <div className="truncate text-muted" title={person.email}>
                {person.email}
              </div>
              {person.joined_at !== null && (
                <div className="text-[0.8125rem] text-muted sm:hidden">
                  {text.organization.joinedOn(formatDay(person.joined_at))}
                </div>
              )}
            </Cell>
            <Cell>
              <Badge>{text.shell.role[person.role]}</Badge>
            </Cell>
            {showsActivity && (
              <>
                <Cell className="hidden whitespace-nowrap text-muted md:table-cell">
                  {describeActivity(person.last_active_at)}
                </Cell>
                <Cell className="hidden whitespace-nowrap text-muted sm:table-cell">
                  {person.joined_at !== null && formatDay(person.joined_at)}
                </Cell>
              </>
            )}
            <Cell className="pl-0">
              <MemberMenu member={toMember(person)} />
            </Cell>
          </tr>
        ))}
      </Table>
      {total > people.length && (
        <p className="border-t px-5 py-3 text-muted">
          {text.organization.more(formatNumber(people.length), formatNumber(total))}
        </p>
      )}
    </>
  )
}

/** The server tells only the hour. */
function describeActivity(at: string | null): string {
  if (at === null) return text.organization.neverActive
  return Date.now() - Date.parse(at) < 3_600_000 ? text.organization.thisHour : formatRelative(at)
}

/** Of an invitation, which the list leaves out, only the name and the user are missing. */
function toMember({ id, user_id, name, email, role, kind }: OrganizationPerson): ManagedMember {
  return {
    id,
    user_id: user_id ?? 0,
    name: name ?? email,
    role,
    kind: kind === 'service' ? 'service' : 'person',
  }
}

/** Allowed actions on a member: change the role and remove, or leave on their own row. */
function MemberMenu({ member }: { member: ManagedMember }) {
  const [open, setOpen] = useState<'role' | 'remove' | null>(null)
  const { user } = useSession()
  const roles = useManagedRoles()
  const isOwn = member.user_id === user.id
  const mayManage = roles.includes(member.role)
  if (!mayManage && !isOwn) return null
  const close = () => setOpen(null)
  return (
    <>
      <Menu
        trigger={
          <Button variant="quiet" size="tiny" aria-label={text.organization.actionsFor(member.name)}>
            <EllipsisVertical />
          </Button>
        }
      >
        {mayManage && <MenuItem onSelect={() => setOpen('role')}>{text.organization.changeRole}</MenuItem>}
        <MenuItem dangerous onSelect={() => setOpen('remove')}>
          {isOwn ? text.organization.leave : text.organization.remove}
        </MenuItem>
      </Menu>
      {open === 'role' && <RoleDialog member={member} roles={roles} onClose={close} />}
      {open === 'remove' && <RemoveMemberDialog member={member} isOwn={isOwn} onClose={close} />}
    </>
  )
}
