import { EllipsisVertical } from 'lucide-react'
import { Suspense, useState } from 'react'
import { useSession } from '../../../api/session.ts'
import { Badge } from '../../../components/badge.tsx'
import { Button } from '../../../components/button.tsx'
import { Menu, MenuItem } from '../../../components/menu.tsx'
import { Cell } from '../../../components/table.tsx'
import type { OrganizationPerson } from '../../../contract.ts'
import { formatDay } from '../../../format.ts'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { text } from '../../../text/index.ts'
import { describeActivity } from '../describe-activity.ts'
import { useManagedRoles } from '../managed-roles.ts'
import type { ManagedMember } from '../managed-roles.ts'
import { serviceRoles } from '../service-members/roles.ts'

const words = text.people

const RoleDialog = lazyPart(() => import('../role-dialog.tsx').then((module) => module.RoleDialog))
const RemoveMemberDialog = lazyPart(() =>
  import('../remove-member-dialog.tsx').then((module) => module.RemoveMemberDialog),
)

const note = 'truncate text-[0.8125rem] text-muted'

/** A member or a program, with what the person may do about them. */
export function MemberRow({ person, showsDates }: { person: OrganizationPerson; showsDates: boolean }) {
  const { user } = useSession()
  const { name, email, role, kind, joined_at: joined, last_active_at: active, second_factor: factor } = person
  return (
    <tr className="h-13">
      <Cell className="w-full max-w-0 py-1.5!">
        <div className="flex items-center gap-2">
          <span className="truncate font-medium" title={name ?? undefined}>
            {name}
          </span>
          {kind === 'service' && <Badge>{words.program}</Badge>}
          {person.user_id === user.id && <Badge tone="accent">{text.organization.you}</Badge>}
        </div>
        <div className={note} title={email}>
          {email}
        </div>
        {showsDates && <div className={`${note} md:hidden`}>{words.activeAt(describeActivity(active))}</div>}
        {factor === false && <div className={`${note} lg:hidden`}>{words.withoutFactor}</div>}
      </Cell>
      <Cell className="py-1.5!">
        <Badge>{text.shell.role[role]}</Badge>
      </Cell>
      {showsDates && (
        <>
          <Cell className="hidden py-1.5! lg:table-cell">
            {factor !== null && (
              <Badge tone={factor ? 'good' : 'warn'}>{factor ? words.hasFactor : words.noFactor}</Badge>
            )}
          </Cell>
          <Cell className="hidden py-1.5! whitespace-nowrap text-muted md:table-cell">
            {describeActivity(active)}
          </Cell>
          <Cell className="hidden py-1.5! whitespace-nowrap text-muted sm:table-cell">
            {joined !== null && formatDay(joined)}
          </Cell>
        </>
      )}
      <Cell className="py-1.5! pl-0">
        <MemberMenu member={toMember(person)} />
      </Cell>
    </tr>
  )
}

/** Of an invitation, which has its own row, only the name and the user are missing. */
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
      <Suspense>
        {open === 'role' && (
          <RoleDialog
            member={member}
            roles={member.kind === 'service' ? serviceRoles : roles}
            onClose={close}
          />
        )}
        {open === 'remove' && <RemoveMemberDialog member={member} isOwn={isOwn} onClose={close} />}
      </Suspense>
    </>
  )
}
