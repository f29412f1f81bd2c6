import { useQuery } from '@tanstack/react-query'
import { EllipsisVertical } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import type { Member } from '../../contract.ts'
import { formatDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { membersQuery } from '../../domain/members/queries.ts'
import { useManagedRoles } from './managed-roles.ts'
import { RemoveMemberDialog } from './remove-member-dialog.tsx'
import { RoleDialog } from './role-dialog.tsx'

/** Members with roles, and a menu for manageable ones. `services` false leaves programs out. */
export function MemberTable({ services }: { services: boolean }) {
  const members = useQuery(membersQuery)
  const { user } = useSession()
  return (
    <Section flush>
      {members.data ? (
        <Table
          label={text.organization.members}
          head={
            <>
              <HeadCell>{text.organization.name}</HeadCell>
              <HeadCell>{text.organization.role}</HeadCell>
              <HeadCell className="hidden sm:table-cell">{text.organization.joined}</HeadCell>
              <HeadCell>
                <span className="sr-only">{text.organization.actions}</span>
              </HeadCell>
            </>
          }
        >
          {members.data
            .filter(({ kind }) => services || kind === 'person')
            .map((member) => (
              <tr key={member.id}>
                <Cell className="w-full max-w-0">
                  <div className="flex items-center gap-2">
                    <span className="truncate font-medium" title={member.name}>
                      {member.name}
                    </span>
                    {member.kind === 'service' && <Badge>{text.serviceMembers.badge}</Badge>}
                    {member.user_id === user.id && <Badge tone="accent">{text.organization.you}</Badge>}
                  </div>
                  <div className="truncate text-muted" title={member.email}>
                    {member.email}
                  </div>
                  <div className="text-[0.8125rem] text-muted sm:hidden">
                    {text.organization.joinedOn(formatDay(member.joined_at))}
                  </div>
                </Cell>
                <Cell>
                  <Badge>{text.shell.role[member.role]}</Badge>
                </Cell>
                <Cell className="hidden whitespace-nowrap text-muted sm:table-cell">
                  {formatDay(member.joined_at)}
                </Cell>
                <Cell className="pl-0">
                  <MemberMenu member={member} />
                </Cell>
              </tr>
            ))}
        </Table>
      ) : members.error ? (
        <ErrorState error={members.error} onRetry={() => void members.refetch()} />
      ) : (
        <SkeletonRows count={3} />
      )}
    </Section>
  )
}

/** Allowed actions on a member: change the role and remove, or leave on their own row. */
function MemberMenu({ member }: { member: Member }) {
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
