import { useQuery } from '@tanstack/react-query'
import { EllipsisVertical } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { ServiceMember } from '../../../contract.ts'
import { Badge } from '../../../components/badge.tsx'
import { Button } from '../../../components/button.tsx'
import { Menu, MenuItem } from '../../../components/menu.tsx'
import { Section } from '../../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../../components/table.tsx'
import { formatRelative } from '../../../format.ts'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { text } from '../../../text/index.ts'
import type { OpenDialog } from './dialogs.tsx'
import { serviceMembersQuery } from './queries.ts'

const words = text.serviceMembers

const Dialogs = lazyPart(() => import('./dialogs.tsx').then((module) => module.ServiceMemberDialogs))

/** The programs among the members, with an admin's actions; requires the `manageMembers` permission. */
export function ServiceMembersSection() {
  const { data: members, error, refetch } = useQuery(serviceMembersQuery)
  const [open, setOpen] = useState<OpenDialog | null>(null)
  return (
    <Section
      flush
      title={words.title}
      description={words.description}
      actions={<Button onClick={() => setOpen({ dialog: 'add' })}>{words.add}</Button>}
    >
      {members === undefined ? (
        error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows count={1} />
        )
      ) : members.length === 0 ? (
        <p className="px-5 py-4 text-muted">{words.none}</p>
      ) : (
        <Table
          label={words.title}
          head={
            <>
              <HeadCell>{text.organization.name}</HeadCell>
              <HeadCell>{text.organization.role}</HeadCell>
              <HeadCell className="hidden sm:table-cell">{words.networks}</HeadCell>
              <HeadCell>
                <span className="sr-only">{text.organization.actions}</span>
              </HeadCell>
            </>
          }
        >
          {members.map((member) => (
            <ServiceMemberRow key={member.id} member={member} onOpen={setOpen} />
          ))}
        </Table>
      )}
      {open !== null && (
        <Suspense>
          <Dialogs open={open} onChange={setOpen} />
        </Suspense>
      )}
    </Section>
  )
}

function ServiceMemberRow({ member, onOpen }: { member: ServiceMember; onOpen: (open: OpenDialog) => void }) {
  const { name, email, role, allowed_networks: networks, previous_password_ends_at: previous } = member
  return (
    <tr>
      <Cell className="w-full max-w-0">
        <div className="truncate font-medium" title={name}>
          {name}
        </div>
        <div className="truncate text-muted" title={email}>
          {email}
        </div>
        <div className="truncate text-[0.8125rem] text-muted sm:hidden">{networks.join(', ')}</div>
        {previous !== null && (
          <div className="text-[0.8125rem] text-muted">{words.previousUntil(formatRelative(previous))}</div>
        )}
      </Cell>
      <Cell>
        <Badge>{text.shell.role[role]}</Badge>
      </Cell>
      <Cell className="hidden max-w-60 truncate font-mono text-[0.8125rem] text-muted sm:table-cell">
        <span title={networks.join(', ')}>{networks.join(', ')}</span>
      </Cell>
      <Cell className="pl-0">
        <Menu
          trigger={
            <Button variant="quiet" size="tiny" aria-label={text.organization.actionsFor(name)}>
              <EllipsisVertical />
            </Button>
          }
        >
          <MenuItem onSelect={() => onOpen({ dialog: 'networks', member })}>{words.changeNetworks}</MenuItem>
          <MenuItem onSelect={() => onOpen({ dialog: 'naming', member })}>{words.naming}</MenuItem>
          <MenuItem onSelect={() => onOpen({ dialog: 'rotate', member })}>{words.rotate}</MenuItem>
          <MenuItem onSelect={() => onOpen({ dialog: 'role', member })}>
            {text.organization.changeRole}
          </MenuItem>
          <MenuItem dangerous onSelect={() => onOpen({ dialog: 'remove', member })}>
            {text.organization.remove}
          </MenuItem>
        </Menu>
      </Cell>
    </tr>
  )
}
