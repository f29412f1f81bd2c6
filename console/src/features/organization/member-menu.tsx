import { EllipsisVertical } from 'lucide-react'
import { useState } from 'react'
import type { Member } from '../../contract.ts'
import { useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { text } from '../../text/index.ts'
import { useManagedRoles } from './managed-roles.ts'
import { RemoveMemberDialog } from './remove-member-dialog.tsx'
import { RoleDialog } from './role-dialog.tsx'

/** Allowed actions on a member: change the role and remove, or leave on their own row. */
export function MemberMenu({ member }: { member: Member }) {
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
