import { useId } from 'react'
import type { Member } from '../../contract.ts'
import type { ManagedMember } from './managed-roles.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Form } from '../../components/form.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { useUpdateRole } from './queries.ts'
import { RoleChoice } from './role-choice.tsx'

interface RoleDialogProps {
  member: ManagedMember
  /** The roles that the person may assign */
  roles: readonly Member['role'][]
  onClose: () => void
}

export function RoleDialog({ member, roles, onClose }: RoleDialogProps) {
  const formId = useId()
  const change = useUpdateRole()
  const toasts = useToasts()
  return (
    <Dialog
      onClose={onClose}
      title={text.organization.changeRoleOf(member.name)}
      actions={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button type="submit" form={formId} variant="primary" busy={change.isPending}>
            {text.common.save}
          </Button>
        </>
      }
    >
      <Form<'role'>
        id={formId}
        error={change.error}
        onSubmit={({ role }) =>
          change.mutate(
            { id: member.id, role: role as Member['role'] },
            {
              onSuccess: () => {
                toasts.success(text.common.saved)
                onClose()
              },
            },
          )
        }
      >
        <RoleChoice roles={roles} chosen={member.role} />
      </Form>
    </Dialog>
  )
}
