import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ComponentProps } from 'react'
import type { ManagedMember } from './managed-roles.ts'
import { ApiError } from '../../api/client.ts'
import { organizationQuery } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { SelectField } from '../../components/field.tsx'
import { Skeleton } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useLeaveOrganization } from '../../domain/session/organizations.ts'
import { ActiveDeployments } from '../../domain/deployments/active-deployments.tsx'
import { text } from '../../text/index.ts'
import { organizationDeploymentsQuery, ownDeploymentsQuery } from '../../domain/deployments/queries.ts'
import { isFinished } from '../../domain/deployments/status.ts'
import { membersQuery } from '../../domain/members/queries.ts'
import { useRemoveMember } from './queries.ts'

interface RemoveMemberDialogProps {
  member: ManagedMember
  /** Whether the person leaves the organization themselves */
  isOwn: boolean
  onClose: () => void
}

type ActiveDeployment = ComponentProps<typeof ActiveDeployments>['deployments'][number]

const words = text.organization

/** Removes a member, or leaves. If deployments are active, names them and asks what happens to them. */
export function RemoveMemberDialog({ member, isOwn, onClose }: RemoveMemberDialogProps) {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const leave = useLeaveOrganization()
  const remove = useRemoveMember()
  const { error, isPending } = isOwn ? leave : remove
  const toasts = useToasts()
  // Neither ending nor transferring is a default: each affects what is in production.
  const [choice, setChoice] = useState('')
  const { data: listed, isLoading } = useQuery({
    ...(isOwn ? ownDeploymentsQuery : organizationDeploymentsQuery),
    select: ({ items }) =>
      items.filter(
        (deployment) =>
          Number(deployment.user_id) === member.user_id &&
          deployment.organization_id === String(organization.id) &&
          !isFinished(deployment),
      ),
  })
  // The list may be older than the response of the server, which refuses to decide about active deployments.
  const isActive = error instanceof ApiError && error.code === 'deployments_active'
  const reported = isActive ? (error.facts.active_deployments ?? []) : null
  const [refused, setRefused] = useState<ActiveDeployment[]>([])
  if (reported && reported !== refused) setRefused(reported)
  const known: ActiveDeployment[] = refused.length > 0 ? refused : (listed ?? [])
  const deployments = known.length > 0 ? known : null
  const handOver = !deployments
    ? {}
    : choice === 'end'
      ? { deployments: 'end' as const }
      : { deployments: 'transfer' as const, to: Number(choice) }
  const onRemoved = () => {
    toasts.success(words.removed(member.name))
    onClose()
  }
  return (
    <ConfirmDialog
      onClose={onClose}
      title={isOwn ? words.leaveTitle(organization.name) : words.removeTitle(member.name)}
      description={
        isOwn
          ? words.leaveDescription
          : member.kind === 'service'
            ? text.serviceMembers.removeDescription
            : words.removeDescription(organization.name)
      }
      confirmLabel={isOwn ? words.leave : words.remove}
      dangerous
      busy={isPending}
      error={isActive ? null : error}
      disabled={isLoading || (deployments !== null && choice === '')}
      onConfirm={() =>
        isOwn ? leave.mutate(handOver) : remove.mutate({ id: member.id, handOver }, { onSuccess: onRemoved })
      }
    >
      {isLoading && <Skeleton className="h-16" />}
      {deployments && (
        <>
          <ActiveDeployments title={words.deploymentsActive(deployments.length)} deployments={deployments} />
          <DeploymentsChoice member={member} count={deployments.length} value={choice} onChange={setChoice} />
        </>
      )}
    </ConfirmDialog>
  )
}

function DeploymentsChoice({
  member,
  count,
  value,
  onChange,
}: {
  member: ManagedMember
  count: number
  value: string
  onChange: (value: string) => void
}) {
  const { data: members = [] } = useQuery(membersQuery)
  const recipients = members.filter(({ id, role }) => id !== member.id && role !== 'viewer')
  return (
    <SelectField
      label={words.deploymentsChoice}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="" disabled>
        {words.choose}
      </option>
      {recipients.map(({ user_id, name }) => (
        <option key={user_id} value={user_id}>
          {words.transferTo(count, name)}
        </option>
      ))}
      <option value="end">{words.endDeployments(count)}</option>
    </SelectField>
  )
}
