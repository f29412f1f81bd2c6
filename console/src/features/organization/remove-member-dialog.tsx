import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Suspense, useId, useState } from 'react'
import type { ComponentProps } from 'react'
import type { HandOver } from '../../contract.ts'
import type { ManagedMember } from './managed-roles.ts'
import { ApiError } from '../../api/client.ts'
import { organizationQuery } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Skeleton } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useLeaveOrganization } from '../../domain/session/organizations.ts'
import { ActiveDeployments } from '../../domain/deployments/active-deployments.tsx'
import { text } from '../../text/index.ts'
import { organizationDeploymentsQuery, ownDeploymentsQuery } from '../../domain/deployments/queries.ts'
import { isFinished } from '../../domain/deployments/status.ts'
import type { FoundPerson } from '../../domain/members/person-search.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { useRemoveMember } from './queries.ts'

interface RemoveMemberDialogProps {
  member: ManagedMember
  /** Whether the person leaves the organization themselves */
  isOwn: boolean
  onClose: () => void
}

type ActiveDeployment = ComponentProps<typeof ActiveDeployments>['deployments'][number]

/** What happens to the active deployments */
type Choice = { act: 'end' } | { act: 'transfer'; to: FoundPerson | null }

/** Null as long as the choice is incomplete. */
function toHandOver(choice: Choice | null): HandOver | null {
  if (choice?.act === 'end') return { deployments: 'end' }
  return choice?.to ? { deployments: 'transfer', to: choice.to.userId } : null
}

const words = text.organization

// Few members who leave have active deployments.
const PersonSearch = lazyPart(() =>
  import('../../domain/members/person-search.tsx').then((module) => module.PersonSearch),
)

/** Removes a member, or leaves. If deployments are active, names them and asks what happens to them. */
export function RemoveMemberDialog({ member, isOwn, onClose }: RemoveMemberDialogProps) {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const leave = useLeaveOrganization()
  const remove = useRemoveMember()
  const { error, isPending } = isOwn ? leave : remove
  const toasts = useToasts()
  // Neither ending nor transferring is a default: each affects what is in production.
  const [choice, setChoice] = useState<Choice | null>(null)
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
  const handOver = deployments ? toHandOver(choice) : {}
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
      disabled={isLoading || handOver === null}
      onConfirm={() => {
        if (handOver === null) return
        if (isOwn) leave.mutate(handOver)
        else remove.mutate({ id: member.id, handOver }, { onSuccess: onRemoved })
      }}
    >
      {isLoading && <Skeleton className="h-16" />}
      {deployments && (
        <>
          <ActiveDeployments title={words.deploymentsActive(deployments.length)} deployments={deployments} />
          <DeploymentsChoice
            member={member}
            count={deployments.length}
            choice={choice}
            onChange={setChoice}
          />
        </>
      )}
    </ConfirmDialog>
  )
}

function DeploymentsChoice({
  member,
  count,
  choice,
  onChange,
}: {
  member: ManagedMember
  count: number
  choice: Choice | null
  onChange: (choice: Choice) => void
}) {
  const [end, transfer] = [useId(), useId()]
  const recipient = choice?.act === 'transfer' ? choice.to : null
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1.5 font-medium">{words.deploymentsChoice}</legend>
      {(
        [
          [transfer, 'transfer', words.transferDeployments(count)],
          [end, 'end', words.endDeployments(count)],
        ] as const
      ).map(([id, act, label]) => (
        <div key={id} className="flex items-center gap-2.5">
          <input
            type="radio"
            id={id}
            name={`${end} act`}
            className="accent-accent"
            checked={choice?.act === act}
            onChange={() => onChange(act === 'end' ? { act } : { act, to: null })}
          />
          <label htmlFor={id}>{label}</label>
        </div>
      ))}
      {choice?.act !== 'end' && (
        <>
          <Suspense fallback={<Skeleton className="h-30" />}>
            <PersonSearch
              label={words.recipient}
              placeholder={words.searchRecipient}
              none={words.noRecipient}
              chosen={recipient?.userId ?? null}
              onChoose={(to) => onChange({ act: 'transfer', to })}
              leavesOut={({ user_id: userId, role }) => userId === member.user_id || role === 'viewer'}
            />
          </Suspense>
          <p role="status" className="text-muted">
            {recipient ? words.transfersTo(count, recipient.name) : words.chooseRecipient}
          </p>
        </>
      )}
    </fieldset>
  )
}
