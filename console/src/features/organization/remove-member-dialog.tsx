import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Member } from '../../contract.ts'
import { ApiError } from '../../api/client.ts'
import { organizationQuery } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { SelectField } from '../../components/field.tsx'
import { ErrorMessage, Notice } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useLeaveOrganization } from '../../domain/session/organizations.ts'
import { text } from '../../text/index.ts'
import { membersQuery, useRemoveMember } from './queries.ts'

interface RemoveMemberDialogProps {
  member: Member
  /** Whether the person leaves the organization themselves */
  isOwn: boolean
  onClose: () => void
}

const words = text.organization

/** Removes a member, or leaves. If deployments are active, asks what happens to them. */
export function RemoveMemberDialog({ member, isOwn, onClose }: RemoveMemberDialogProps) {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const leave = useLeaveOrganization()
  const remove = useRemoveMember()
  const { error, isPending } = isOwn ? leave : remove
  const toasts = useToasts()
  const [choice, setChoice] = useState('end')
  const active = error instanceof ApiError && error.code === 'deployments_active'
  const [mustChoose, setMustChoose] = useState(false)
  if (active && !mustChoose) setMustChoose(true)
  const handOver = !mustChoose
    ? {}
    : choice === 'end'
      ? { deployments: 'end' as const }
      : { deployments: 'transfer' as const, to: Number(choice) }
  const onSuccess = () => {
    toasts.success(isOwn ? words.left(organization.name) : words.removed(member.name))
    onClose()
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={isOwn ? words.leaveTitle(organization.name) : words.removeTitle(member.name)}
      description={isOwn ? words.leaveDescription : words.removeDescription(organization.name)}
      confirmLabel={isOwn ? words.leave : words.remove}
      dangerous
      busy={isPending}
      onConfirm={() =>
        isOwn
          ? leave.mutate(handOver, { onSuccess })
          : remove.mutate({ id: member.id, handOver }, { onSuccess })
      }
    >
      <div className="grid gap-3">
        {mustChoose && <DeploymentsChoice member={member} value={choice} onChange={setChoice} />}
        {!active && <ErrorMessage error={error} />}
      </div>
    </ConfirmDialog>
  )
}

function DeploymentsChoice({
  member,
  value,
  onChange,
}: {
  member: Member
  value: string
  onChange: (value: string) => void
}) {
  const { data: members = [] } = useQuery(membersQuery)
  const recipients = members.filter(({ id, role }) => id !== member.id && role !== 'viewer')
  return (
    <>
      <Notice tone="warn">{words.deploymentsActive}</Notice>
      <SelectField
        label={words.deploymentsChoice}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      >
        <option value="end">{words.endDeployments}</option>
        {recipients.map(({ user_id, name }) => (
          <option key={user_id} value={user_id}>
            {words.transferTo(name)}
          </option>
        ))}
      </SelectField>
    </>
  )
}
