import { useState } from 'react'
import type { IssuedServiceMember, NewServiceMemberInput, ServiceMember } from '../../../contract.ts'
import { CheckField } from '../../../components/check-field.tsx'
import { ConfirmDialog, Dialog } from '../../../components/dialog.tsx'
import { TextArea, TextField } from '../../../components/field.tsx'
import { fieldErrors, Form, listError } from '../../../components/form.tsx'
import { SecretDialog } from '../../../components/secret-dialog.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { RemoveMemberDialog } from '../remove-member-dialog.tsx'
import { RoleChoice } from '../role-choice.tsx'
import { RoleDialog } from '../role-dialog.tsx'
import { NamingDialog } from './naming-dialog.tsx'
import { useAddServiceMember, useRotatePassword, useUpdateServiceMember } from './queries.ts'
import { serviceRoles } from './roles.ts'

const words = text.serviceMembers

/** The open dialog: a form or a question about a service member, or credentials shown once. */
export type OpenDialog =
  | { dialog: 'add' }
  | { dialog: 'networks' | 'naming' | 'rotate' | 'role' | 'remove'; member: ServiceMember }
  | { dialog: 'credentials'; issued: IssuedServiceMember }

interface DialogsProps {
  open: OpenDialog
  /** Opens another dialog, or none. */
  onChange: (open: OpenDialog | null) => void
}

/** New credentials open their dialog even if the person has closed the one before. */
export function ServiceMemberDialogs({ open, onChange }: DialogsProps) {
  const close = () => onChange(null)
  const show = (issued: IssuedServiceMember) => onChange({ dialog: 'credentials', issued })
  switch (open.dialog) {
    case 'add':
      return <AddDialog onClose={close} onIssued={show} />
    case 'networks':
      return <NetworksDialog member={open.member} onClose={close} />
    case 'naming':
      return <NamingDialog member={open.member} onClose={close} />
    case 'rotate':
      return <RotateDialog member={open.member} onClose={close} onIssued={show} />
    case 'role':
      return <RoleDialog member={open.member} roles={serviceRoles} onClose={close} />
    case 'remove':
      return <RemoveMemberDialog member={open.member} isOwn={false} onClose={close} />
    case 'credentials':
      return <CredentialsDialog issued={open.issued} onDone={close} />
  }
}

interface IssueProps {
  onClose: () => void
  onIssued: (issued: IssuedServiceMember) => void
}

function AddDialog({ onClose, onIssued }: IssueProps) {
  const addition = useAddServiceMember(onIssued)
  return (
    <Dialog onClose={onClose} title={text.people.addProgram} description={words.addDescription}>
      <Form<'name' | 'role' | 'allowed_networks'>
        submitLabel={text.people.addProgram}
        busy={addition.isPending}
        error={addition.error}
        onSubmit={({ name, role, allowed_networks: networks }) =>
          addition.mutate({
            name,
            role: role as NewServiceMemberInput['role'],
            allowed_networks: readLines(networks),
          })
        }
      >
        <TextField
          label={words.name}
          hint={words.nameHint}
          name="name"
          autoComplete="off"
          maxLength={255}
          required
          error={fieldErrors(addition.error).name}
        />
        <RoleChoice roles={serviceRoles} chosen="member" />
        <NetworksField error={addition.error} />
      </Form>
    </Dialog>
  )
}

function NetworksDialog({ member, onClose }: { member: ServiceMember; onClose: () => void }) {
  const change = useUpdateServiceMember()
  const toasts = useToasts()
  const onSuccess = () => {
    toasts.success(text.common.saved)
    onClose()
  }
  return (
    <Dialog
      onClose={onClose}
      title={words.changeNetworksOf(member.name)}
      description={words.changeNetworksDescription}
    >
      <Form<'allowed_networks'>
        submitLabel={text.common.save}
        busy={change.isPending}
        error={change.error}
        onSubmit={({ allowed_networks: networks }) =>
          change.mutate({ id: member.id, changes: { allowed_networks: readLines(networks) } }, { onSuccess })
        }
      >
        <NetworksField error={change.error} value={member.allowed_networks} />
      </Form>
    </Dialog>
  )
}

function NetworksField({ error, value }: { error: unknown; value?: readonly string[] }) {
  return (
    <TextArea
      label={words.networks}
      hint={words.networksHint}
      name="allowed_networks"
      className="font-mono text-[0.8125rem]"
      spellCheck={false}
      autoComplete="off"
      required
      defaultValue={value?.join('\n')}
      error={listError(error, 'allowed_networks')}
    />
  )
}

function readLines(networks: string): string[] {
  return networks.split(/[\s,]+/).filter((network) => network !== '')
}

function RotateDialog({ member, onClose, onIssued }: IssueProps & { member: ServiceMember }) {
  const rotation = useRotatePassword(onIssued)
  const [now, setNow] = useState(false)
  return (
    <ConfirmDialog
      onClose={onClose}
      title={words.rotateTitle(member.name)}
      description={words.rotateDescription}
      confirmLabel={words.rotate}
      dangerous={now}
      busy={rotation.isPending}
      error={rotation.error}
      onConfirm={() => rotation.mutate({ id: member.id, now })}
    >
      <CheckField label={words.rotateNow} hint={words.rotateNowHint} checked={now} onChange={setNow} />
    </ConfirmDialog>
  )
}

/** Email and new password. */
function CredentialsDialog({ issued, onDone }: { issued: IssuedServiceMember; onDone: () => void }) {
  const variables = [
    `BERTH_URL=${window.location.origin}`,
    `BERTH_EMAIL=${issued.email}`,
    `BERTH_PASSWORD=${issued.password}`,
  ]
  return (
    <SecretDialog
      words={words}
      description={words.copyDescription}
      secret={variables.join('\n')}
      label={words.credentials}
      onDone={onDone}
    >
      <p className="text-[0.8125rem] text-muted">{words.run}</p>
    </SecretDialog>
  )
}
