import { useQuery } from '@tanstack/react-query'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Section } from '../../components/page.tsx'
import type { Deployment, DeploymentTransition } from '../../contract.ts'
import { lazy, Suspense, useState } from 'react'
import { Link } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Notice } from '../../components/states.tsx'
import { eventsQuery, findStartTime } from '../../domain/deployments/events.ts'
import { isFallingAsleep, isChanging, isFinished } from '../../domain/deployments/status.ts'
import { formatMoment, formatDuration, formatNumber, formatRelative } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { describeRule, toRules } from '../../schedules.ts'
import { text } from '../../text/index.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { Capacity } from './capacity.tsx'
import { Details } from './details.tsx'
import { FailureNotice } from './failure-notice.tsx'
import { Timeline } from './timeline.tsx'
import { usePrices } from './use-prices.ts'

const tones: Record<Instance['status'], Tone> = {
  starting: 'busy',
  running: 'good',
  draining: 'neutral',
  releasing: 'neutral',
}

const PolicyDialog = lazyPart(() => import('./policy-dialog.tsx').then((module) => module.PolicyDialog))

/** Most deployments have none. */
const Adapters = lazy(async () => ({ default: (await import('./adapters.tsx')).Adapters }))

const EngineSection = lazyPart(() => import('./engine-section.tsx').then((module) => module.EngineSection))

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
        <Suspense fallback={null}>
          <EngineSection deployment={deployment} />
        </Suspense>
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

type Instance = Deployment['instances'][number]

/** The live instances of a deployment with their load and price, and its policy. */
function Instances({ deployment }: { deployment: Deployment }) {
  const { change } = useAccess(deployment)
  const [isEditing, setEditing] = useState(false)
  const { status, instances, waiting_for: waitingFor, status_message: message } = deployment
  const isOver = isFinished(deployment)
  const priceOf = usePrices(instances.length > 0)
  if (isOver && instances.length === 0) return null
  return (
    <Section
      title={words.title}
      flush
      actions={change && !isOver && <Button onClick={() => setEditing(true)}>{words.edit}</Button>}
    >
      {instances.length > 0 && (
        <ul aria-label={words.title} className="divide-y border-b">
          {instances.map((instance) => (
            <Row key={instance.id} instance={instance} price={priceOf(deployment, instance.instance_type)} />
          ))}
        </ul>
      )}
      <div className="grid gap-1 px-5 py-3.5">
        {instances.length === 0 && <p>{words.none}</p>}
        {status === 'running' && !isChanging(deployment) && waitingFor !== 'resize' && message !== null && (
          <p>{message}</p>
        )}
        <p className="text-muted">{describePolicy(deployment.policy)}</p>
        {toRules(deployment.policy.schedules).map((rule, index) => (
          <p key={index} className="text-muted">
            {describeRule(rule)}
          </p>
        ))}
      </div>
      {isEditing && (
        <Suspense>
          <PolicyDialog deployment={deployment} onClose={() => setEditing(false)} />
        </Suspense>
      )}
    </Section>
  )
}

/** A policy in two or three sentences, without its schedules. */
function describePolicy({
  min_instances: least,
  max_instances: most,
  idle_minutes: minutes,
  yields,
  cache_scope: cacheScope,
}: Deployment['policy']): string {
  const instances =
    least === most
      ? words.awake(most, formatNumber(most))
      : words.awakeByLoad(formatNumber(least), formatNumber(most))
  const sleep = minutes === null ? words.neverSleeps : words.sleepsAfter(minutes, formatNumber(minutes))
  return [
    instances,
    sleep,
    ...(yields ? [words.yieldsHardware] : []),
    ...(cacheScope === 'member' ? [words.hasSeparateCaches] : []),
  ].join(' ')
}

function Row({ instance, price }: { instance: Instance; price: string | null }) {
  const { status, instance_type: type, region, started_at: startedAt, in_flight: inFlight } = instance
  const facts = [
    startedAt !== null && words.inFlight(inFlight, formatNumber(inFlight)),
    startedAt !== null && price,
  ].filter((fact) => typeof fact === 'string')
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 px-5 py-3">
      <p className="font-medium break-all">{type ?? <span className="text-muted">{words.choosing}</span>}</p>
      <Badge
        tone={tones[status]}
        dot={status === 'running' ? 'still' : 'pulsing'}
        className="justify-self-end"
      >
        {words.statuses[status]}
      </Badge>
      <p className="text-[0.8125rem] text-muted">
        {region}
        {startedAt !== null && (
          <>
            {' · '}
            <time dateTime={startedAt} title={formatMoment(startedAt)}>
              {formatRelative(startedAt)}
            </time>
          </>
        )}
      </p>
      <p className="tabular text-right text-[0.8125rem] text-muted">{facts.join(' · ')}</p>
    </li>
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
