import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Notice } from '../../components/states.tsx'
import { eventsQuery, findStartTime } from '../../domain/deployments/events.ts'
import { isEnding } from '../../domain/deployments/status.ts'
import { formatDuration } from '../../format.ts'
import { text } from '../../text/index.ts'
import { conversation, isAsking } from './conversation.ts'
import { useStore } from './store.ts'
import { isUsable } from './targets.ts'
import type { Target } from './targets.ts'

interface DeploymentNoticesProps {
  targets: readonly Target[]
  names: ReadonlyMap<string, string>
  ids: readonly string[]
}

/** Lists the selected targets that don't answer at once, with the reason. */
export function DeploymentNotices({ targets, names, ids }: DeploymentNoticesProps) {
  return ids.map((id) => (
    <DeploymentNotice
      key={id}
      id={id}
      name={names.get(id) ?? text.playground.gone}
      target={targets.find((one) => one.id === id)}
    />
  ))
}

interface DeploymentNoticeProps {
  id: string
  name: string
  target: Target | undefined
}

function DeploymentNotice({ id, name, target }: DeploymentNoticeProps) {
  const asking = useStore(conversation, (state) => isAsking(state, id))
  if (target?.status === 'running') return null
  // The answer says what it waits for.
  if (asking && target && isUsable(target)) return null
  return (
    <Notice
      tone={!target || isEnding(target) ? 'warn' : target.status === 'failed' ? 'bad' : 'busy'}
      action={
        target && (
          <Link
            to="/deployments/$deploymentId"
            params={{ deploymentId: target.deployment.id }}
            className="font-medium underline underline-offset-4"
          >
            {text.answers.openDeployment}
          </Link>
        )
      }
    >
      <span role="status">
        {describeState(name, target)}{' '}
        {target?.status === 'sleeping' && <LastStart id={target.deployment.id} />}
      </span>
    </Notice>
  )
}

function describeState(name: string, target: Target | undefined) {
  if (!target) return text.answers.isUnknown
  if (isEnding(target)) return text.answers.isGone(name)
  if (target.status === 'sleeping') return text.answers.isSleeping(name)
  return target.status === 'failed' ? text.answers.hasFailed(name) : text.answers.notReady(name)
}

/** How long the last start of a deployment took; nothing until that is known. */
export function LastStart({ id }: { id: string }) {
  const { data: events = [] } = useQuery(eventsQuery(id))
  const start = findStartTime(events)
  return start !== null && text.answers.lastStart(formatDuration(start))
}
