import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Member } from '../../../../server/src/contract.ts'
import { ApiError } from '../../api/client.ts'
import { organizationQuery } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { SelectField } from '../../components/field.tsx'
import { ErrorMessage, Notice } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { membersQuery, useEndMembership } from './queries.ts'

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
  const end = useEndMembership()
  const toasts = useToasts()
  const [choice, setChoice] = useState('end')
  const active = end.error instanceof ApiError && end.error.code === 'deployments_active'
  const [mustChoose, setMustChoose] = useState(false)
  if (active && !mustChoose) setMustChoose(true)
  const handOver = !mustChoose
    ? {}
    : choice === 'end'
      ? { deployments: 'end' as const }
      : { deployments: 'transfer' as const, to: choice }
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={isOwn ? words.leaveTitle(organization.name) : words.removeTitle(member.name)}
      description={isOwn ? words.leaveDescription : words.removeDescription(organization.name)}
      confirmLabel={isOwn ? words.leave : words.remove}
      dangerous
      busy={end.isPending}
      onConfirm={() =>
        end.mutate(
          { memberId: isOwn ? null : member.id, handOver },
          {
            onSuccess: () => {
              toasts.success(isOwn ? words.left(organization.name) : words.removed(member.name))
              onClose()
            },
          },
        )
      }
    >
      <div className="grid gap-3">
        {mustChoose && <DeploymentsChoice member={member} value={choice} onChange={setChoice} />}
        {!active && <ErrorMessage error={end.error} />}
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
