import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Bot, EllipsisVertical } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { ServiceMember } from '../../../contract.ts'
import { Badge } from '../../../components/badge.tsx'
import { Button } from '../../../components/button.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { Menu, MenuItem } from '../../../components/menu.tsx'
import { Section } from '../../../components/page.tsx'
import { EmptyState } from '../../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../../components/table.tsx'
import { useNow } from '../../../components/use-now.ts'
import { formatMoment, formatRelative } from '../../../format.ts'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { text } from '../../../text/index.ts'
import { describeActivity } from '../describe-activity.ts'
import type { OpenDialog } from './dialogs.tsx'
import { serviceMembersQuery } from './queries.ts'

const words = text.serviceMembers

const note = 'truncate text-[0.8125rem] text-muted'

const Dialogs = lazyPart(() => import('./dialogs.tsx').then((module) => module.ServiceMemberDialogs))

/** The programs of the organization, with an admin's actions; requires the `manageMembers` permission. */
export function ProgramsTab() {
  const query = useQuery(serviceMembersQuery)
  const { add } = useSearch({ from: '/app/organization' })
  const navigate = useNavigate({ from: '/organization' })
  const [chosen, setChosen] = useState<OpenDialog | null>(null)
  const open: OpenDialog | null = chosen ?? (add === 'yes' ? { dialog: 'add' } : null)
  const setOpen = (next: OpenDialog | null) => {
    setChosen(next)
    if (add) void navigate({ search: { tab: 'programs' }, replace: true, resetScroll: false })
  }
  // A poll without changes does not re-render, so update relative times here.
  useNow(10_000)
  return (
    <Section flush title={words.title} description={words.description}>
      <Loaded query={query} rows={1}>
        {(members) =>
          members.length === 0 ? (
            <EmptyState icon={<Bot />} title={words.none}>
              {words.noneHint}
            </EmptyState>
          ) : (
            <Table
              label={words.title}
              head={
                <>
                  <HeadCell>{text.organization.name}</HeadCell>
                  <HeadCell>{text.organization.role}</HeadCell>
                  <HeadCell className="hidden sm:table-cell">{words.lastUsed}</HeadCell>
                  <HeadCell className="hidden md:table-cell">{words.passwordAge}</HeadCell>
                  <HeadCell className="hidden lg:table-cell">{words.networks}</HeadCell>
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
          )
        }
      </Loaded>
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
  const lastUsed = describeActivity(member.last_active_at)
  const passwordAge = formatRelative(member.password_created_at)
  return (
    <tr>
      <Cell className="w-full max-w-0">
        <div className="truncate font-medium" title={name}>
          {name}
        </div>
        <div className="truncate text-muted" title={email}>
          {email}
        </div>
        <div className={`${note} sm:hidden`}>{words.usedAt(lastUsed)}</div>
        <div className={`${note} md:hidden`}>{words.passwordFrom(passwordAge)}</div>
        <div className={`${note} font-mono lg:hidden`}>{networks.join(', ')}</div>
        {previous !== null && (
          <div className="text-[0.8125rem] text-muted">{words.previousUntil(formatRelative(previous))}</div>
        )}
      </Cell>
      <Cell>
        <Badge>{text.shell.role[role]}</Badge>
      </Cell>
      <Cell className="hidden whitespace-nowrap text-muted sm:table-cell">{lastUsed}</Cell>
      <Cell className="hidden whitespace-nowrap text-muted md:table-cell">
        <span title={formatMoment(member.password_created_at)}>{passwordAge}</span>
      </Cell>
      <Cell className="hidden max-w-60 truncate font-mono text-[0.8125rem] text-muted lg:table-cell">
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
