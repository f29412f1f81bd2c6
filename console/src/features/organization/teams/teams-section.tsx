import { useQuery } from '@tanstack/react-query'
import { EllipsisVertical } from 'lucide-react'
import { Suspense, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { Menu, MenuItem } from '../../../components/menu.tsx'
import { Section } from '../../../components/page.tsx'
import { Cell, HeadCell, Table } from '../../../components/table.tsx'
import { teamsQuery } from '../../../domain/teams/queries.ts'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { text } from '../../../text/index.ts'
import type { OpenDialog } from './dialogs.tsx'

const words = text.teams

const Dialogs = lazyPart(() => import('./dialogs.tsx').then((module) => module.TeamDialogs))

/** The teams of the organization, with an admin's actions; requires the `manageMembers` permission. */
export function TeamsSection() {
  const query = useQuery(teamsQuery)
  const [open, setOpen] = useState<OpenDialog | null>(null)
  return (
    <Section
      flush
      title={words.title}
      description={words.description}
      actions={<Button onClick={() => setOpen({ dialog: 'name', team: null })}>{words.add}</Button>}
    >
      <Loaded query={query} rows={1}>
        {(teams) =>
          teams.length === 0 ? (
            <p className="px-5 py-4 text-muted">{words.none}</p>
          ) : (
            <Table
              label={words.title}
              head={
                <>
                  <HeadCell>{words.name}</HeadCell>
                  <HeadCell>{words.members}</HeadCell>
                  <HeadCell>
                    <span className="sr-only">{text.organization.actions}</span>
                  </HeadCell>
                </>
              }
            >
              {teams.map((team) => (
                <tr key={team.id}>
                  <Cell className="w-full max-w-0">
                    <div className="truncate font-medium" title={team.name}>
                      {team.name}
                    </div>
                  </Cell>
                  <Cell className="whitespace-nowrap text-muted">{words.countOf(team.members.length)}</Cell>
                  <Cell className="pl-0">
                    <Menu
                      trigger={
                        <Button
                          variant="quiet"
                          size="tiny"
                          aria-label={text.organization.actionsFor(team.name)}
                        >
                          <EllipsisVertical />
                        </Button>
                      }
                    >
                      <MenuItem onSelect={() => setOpen({ dialog: 'members', team })}>
                        {words.members}
                      </MenuItem>
                      <MenuItem onSelect={() => setOpen({ dialog: 'name', team })}>{words.rename}</MenuItem>
                      <MenuItem dangerous onSelect={() => setOpen({ dialog: 'delete', team })}>
                        {words.remove}
                      </MenuItem>
                    </Menu>
                  </Cell>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      {open !== null && (
        <Suspense>
          <Dialogs open={open} onClose={() => setOpen(null)} />
        </Suspense>
      )}
    </Section>
  )
}
