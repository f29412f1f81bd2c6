import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Deployment } from '../../contract.ts'
import { Notice } from '../../components/states.tsx'
import { eventsQuery, findStartTime } from '../../domain/deployments/events.ts'
import { isEnding } from '../../domain/deployments/status.ts'
import { formatDuration } from '../../format.ts'
import { text } from '../../text/index.ts'
import { conversation, isAsking } from './conversation.ts'
import { isUsable } from './deployment-names.ts'
import { useStore } from './store.ts'

interface DeploymentNoticesProps {
  deployments: readonly Deployment[]
  names: ReadonlyMap<string, string>
  ids: readonly string[]
}

/** Lists the selected deployments that don't answer at once, with the reason. */
export function DeploymentNotices({ deployments, names, ids }: DeploymentNoticesProps) {
  return ids.map((id) => (
    <DeploymentNotice
      key={id}
      id={id}
      name={names.get(id) ?? text.playground.gone}
      deployment={deployments.find((one) => one.id === id)}
    />
  ))
}

interface DeploymentNoticeProps {
  id: string
  name: string
  deployment: Deployment | undefined
}

function DeploymentNotice({ id, name, deployment }: DeploymentNoticeProps) {
  const asking = useStore(conversation, (state) => isAsking(state, id))
  if (deployment?.status === 'running') return null
  // The answer says what it waits for.
  if (asking && deployment && isUsable(deployment)) return null
  return (
    <Notice
      tone={!deployment || isEnding(deployment) ? 'warn' : deployment.status === 'failed' ? 'bad' : 'busy'}
      action={
        deployment && (
          <Link
            to="/deployments/$deploymentId"
            params={{ deploymentId: id }}
            className="font-medium underline underline-offset-4"
          >
            {text.playground.openDeployment}
          </Link>
        )
      }
    >
      <span role="status">
        {describeState(name, deployment)} {deployment?.status === 'sleeping' && <LastStart id={id} />}
      </span>
    </Notice>
  )
}

function describeState(name: string, deployment: Deployment | undefined) {
  if (!deployment) return text.playground.isUnknown
  if (isEnding(deployment)) return text.playground.isGone(name)
  if (deployment.status === 'sleeping') return text.playground.isSleeping(name)
  return deployment.status === 'failed' ? text.playground.hasFailed(name) : text.playground.notReady(name)
}

/** How long the last start of a deployment took; nothing until that is known. */
export function LastStart({ id }: { id: string }) {
  const { data: events = [] } = useQuery(eventsQuery(id))
  const start = findStartTime(events)
  return start !== null && text.playground.lastStart(formatDuration(start))
}
