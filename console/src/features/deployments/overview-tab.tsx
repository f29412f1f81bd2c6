import { useQuery } from '@tanstack/react-query'
import type { Deployment, DeploymentTransition } from '../../contract.ts'
import { lazy, Suspense } from 'react'
import { Link } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Notice } from '../../components/states.tsx'
import { eventsQuery, findStartTime } from '../../domain/deployments/events.ts'
import { isFallingAsleep } from '../../domain/deployments/status.ts'
import { formatMoment, formatDuration, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { Capacity } from './capacity.tsx'
import { Details } from './details.tsx'
import { FailureNotice } from './failure-notice.tsx'
import { Instances } from './instances.tsx'
import { Timeline } from './timeline.tsx'

/** Most deployments have none. */
const Adapters = lazy(async () => ({ default: (await import('./adapters.tsx')).Adapters }))

const words = text.instances

/** Failure, timeline, reason for the instance type, and details of a deployment. */
export function OverviewTab({ deployment }: { deployment: Deployment }) {
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_17rem] xl:grid-cols-[minmax(0,1fr)_23rem]">
      <div className="grid min-w-0 gap-5">
        <FailureNotice deployment={deployment} />
        <TerminatedNotice deployment={deployment} />
        <SleepNotice deployment={deployment} />
        <Instances deployment={deployment} />
        <Timeline deployment={deployment} />
        <Capacity deployment={deployment} />
        {deployment.model_type === 'LLM' && (
          <Suspense fallback={null}>
            <Adapters deployment={deployment} />
          </Suspense>
        )}
        {deployment.selected_instance_type !== null && (
          <Disclosure summary={text.deployment.whyInstance} className="rounded-xl bg-surface">
            <p className="max-w-prose px-5 py-4">{deployment.selection_reason}</p>
          </Disclosure>
        )}
      </div>
      <Details deployment={deployment} />
    </div>
  )
}

/** What sleep means for a deployment that sleeps or is about to; why the last attempt to wake it failed. */
function SleepNotice({ deployment }: { deployment: Deployment }) {
  const { id, status, status_message: refusal } = deployment
  const isAsleep = status === 'sleeping'
  const { data: events = [] } = useQuery({ ...eventsQuery(id), enabled: isAsleep })
  if (isFallingAsleep(deployment)) {
    return <Notice title={text.deployments.fallingAsleep}>{words.fallingAsleep}</Notice>
  }
  if (!isAsleep) return null
  const start = findStartTime(events)
  const since = events.findLast((event) => event.transition?.type === 'sleep' && event.transition.phases)
  return (
    <Notice tone={refusal === null ? 'busy' : 'warn'} title={words.sleepingTitle}>
      {refusal !== null && <p>{words.refused(refusal)}</p>}
      {refusal === null && since?.transition && (
        <p>
          {words.asleepSince(formatMoment(since.at))} {describeCause(since.transition)}
        </p>
      )}
      <p>
        {words.sleeping} {start !== null && words.lastStart(formatDuration(start))}
      </p>
    </Notice>
  )
}

function describeCause({ cause, by, idle_minutes: minutes }: DeploymentTransition): string | null {
  if (cause === 'person') return words.sleepCauses.person(by)
  if (cause === 'idle') return words.sleepCauses.idle(minutes ?? 0, formatNumber(minutes ?? 0))
  return cause === 'budget' || cause === 'yield' ? words.sleepCauses[cause] : null
}

/** Where to find what a terminated deployment did. DeploymentActions offers to deploy it again. */
function TerminatedNotice({ deployment }: { deployment: Deployment }) {
  const { id, terminated_at: at } = deployment
  const { inspect } = useAccess(deployment)
  if (at === null) return null
  return (
    <Notice
      title={text.deployment.terminatedTitle(formatMoment(at))}
      action={
        inspect && (
          <Button asChild size="small">
            <Link to="/deployments/$deploymentId" params={{ deploymentId: id }} search={{ tab: 'logs' }}>
              {text.deployment.seeLogs}
            </Link>
          </Button>
        )
      }
    >
      {text.deployment.terminatedWords}
    </Notice>
  )
}
