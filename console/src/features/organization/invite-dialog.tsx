import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import type { ReactNode } from 'react'
import type { InvitationRequestInput } from '../../contract.ts'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { ErrorMessage, Notice } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useMailIsFile } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { useManagedRoles } from './managed-roles.ts'
import { invitationsQuery, useInvite, useResendInvitation } from './queries.ts'
import { RoleChoice } from './role-choice.tsx'

type Role = NonNullable<InvitationRequestInput['role']>

interface InviteDialogProps {
  open: boolean
  onClose: () => void
  onSent: () => void
  onSeeMembers: () => void
}

/** Invites a person with a role. */
export function InviteDialog({ open, onClose, onSent, onSeeMembers }: InviteDialogProps) {
  const formId = useId()
  const invite = useInvite()
  const isFile = useMailIsFile()
  const roles = useManagedRoles().filter((role) => role !== 'super_admin')
  const toasts = useToasts()
  const code = invite.error instanceof ApiError ? invite.error.code : null
  const close = () => {
    invite.reset()
    onClose()
  }
  const sent = (email: string) => {
    toasts.success((isFile ? text.organization.createdFor : text.organization.sentTo)(email))
    invite.reset()
    onSent()
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      title={text.organization.inviteTitle}
      description={isFile ? text.organization.inviteDescriptionFile : text.organization.inviteDescription}
      actions={
        <>
          <Button onClick={close}>{text.common.cancel}</Button>
          <Button type="submit" form={formId} variant="primary" busy={invite.isPending}>
            {isFile ? text.organization.createInvitation : text.organization.sendInvitation}
          </Button>
        </>
      }
    >
      <Form<'email' | 'role'>
        id={formId}
        error={invite.error}
        remedy={
          code === 'invitation_pending' ? (
            <ResendRemedy error={invite.error} email={invite.variables?.email ?? ''} onSent={sent} />
          ) : code === 'already_member' ? (
            <Remedy error={invite.error}>
              <Button
                size="small"
                onClick={() => {
                  invite.reset()
                  onSeeMembers()
                }}
              >
                {text.organization.seeMembers}
              </Button>
            </Remedy>
          ) : undefined
        }
        onSubmit={({ email, role }) =>
          invite.mutate({ email, role: role as Role }, { onSuccess: () => sent(email) })
        }
      >
        <TextField
          label={text.organization.email}
          name="email"
          type="email"
          autoComplete="off"
          required
          error={fieldErrors(invite.error).email}
        />
        <RoleChoice roles={roles} chosen="member" />
      </Form>
    </Dialog>
  )
}

function Remedy({ error, children }: { error: unknown; children: ReactNode }) {
  return (
    <div role="alert">
      <Notice tone="bad" action={children}>
        {error instanceof ApiError && error.message}
      </Notice>
    </div>
  )
}

/** Offers to resend the pending invitation of the same address. */
function ResendRemedy({
  error,
  email,
  onSent,
}: {
  error: unknown
  email: string
  onSent: (email: string) => void
}) {
  const { data: invitations } = useQuery(invitationsQuery)
  const resend = useResendInvitation()
  const pending = invitations?.find(
    ({ status, invitee_email }) =>
      status === 'pending' && invitee_email.toLowerCase() === email.trim().toLowerCase(),
  )
  return (
    <>
      <Remedy error={error}>
        {pending && (
          <Button
            size="small"
            busy={resend.isPending}
            onClick={() => resend.mutate(pending.id, { onSuccess: () => onSent(pending.invitee_email) })}
          >
            {text.organization.resending.button}
          </Button>
        )}
      </Remedy>
      <ErrorMessage error={resend.error} />
    </>
  )
}
