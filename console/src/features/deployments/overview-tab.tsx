import { useQuery } from '@tanstack/react-query'
import type { Deployment, DeploymentTransition } from '../../contract.ts'
import { Suspense } from 'react'
import { Link } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Notice } from '../../components/states.tsx'
import { eventsQuery, findStartTime } from '../../domain/deployments/events.ts'
import { answersRequests, isEnding, isFallingAsleep } from '../../domain/deployments/status.ts'
import { formatMoment, formatDuration, formatNumber } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { CallSection } from './call-section.tsx'
import { useLiveEvents } from './use-live-events.ts'

// Below the first screen, or after a failure
const Details = lazyPart(() => import('./details.tsx').then((module) => module.Details))
const FailureNotice = lazyPart(() => import('./failure-notice.tsx').then((module) => module.FailureNotice))
const InstancesSection = lazyPart(() =>
  import('./instances-section.tsx').then((module) => module.InstancesSection),
)
const Timeline = lazyPart(() => import('./timeline.tsx').then((module) => module.Timeline))
const OverviewFigures = lazyPart(() =>
  import('./overview-figures.tsx').then((module) => module.OverviewFigures),
)

const words = text.instances

/** How to call a deployment, its load and instances. While it starts, or after a failure, that is first. */
export function OverviewTab({ deployment }: { deployment: Deployment }) {
  useLiveEvents(deployment)
  const { call } = useAccess(deployment)
  const answers = answersRequests(deployment)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Suspense>{deployment.failure_stage !== null && <FailureNotice deployment={deployment} />}</Suspense>
      <TerminatedNotice deployment={deployment} />
      <SleepNotice deployment={deployment} />
      <Suspense>{!answers && <Timeline deployment={deployment} />}</Suspense>
      {call && !isEnding(deployment) && <CallSection deployment={deployment} />}
      {answers && (
        <Suspense>
          <OverviewFigures deployment={deployment} />
        </Suspense>
      )}
      <Suspense>
        <InstancesSection deployment={deployment} />
      </Suspense>
      {deployment.selected_instance_type !== null && (
        <Disclosure summary={text.deploymentParts.whyInstance} className="rounded-xl bg-surface">
          <p className="max-w-prose px-5 py-4">{deployment.selection_reason}</p>
        </Disclosure>
      )}
      <Suspense>
        <Details deployment={deployment} />
      </Suspense>
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
      title={text.deploymentParts.terminatedTitle(formatMoment(at))}
      action={
        inspect && (
          <Button asChild size="small">
            <Link to="/deployments/$deploymentId" params={{ deploymentId: id }} search={{ tab: 'logs' }}>
              {text.deploymentParts.seeLogs}
            </Link>
          </Button>
        )
      }
    >
      {text.deploymentParts.terminatedWords}
    </Notice>
  )
}
