import { useState } from 'react'
import { classNames } from '../../class-names.ts'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { useNow } from '../../components/use-now.ts'
import { Progress } from '../../components/progress.tsx'
import { Skeleton } from '../../components/states.tsx'
import { formatClock, formatDuration, formatMoment, formatPercent } from '../../format.ts'
import { text } from '../../text/index.ts'
import { findStartTime } from '../../domain/deployments/events.ts'
import { parseFailure } from './failure-reason.ts'
import { findCurrentStep, nameStep, toSteps } from './steps.ts'
import type { Step } from './steps.ts'
import { useLiveEvents } from './use-live-events.ts'

const words = text.timeline
/** Each sleep and wake adds some. */
const shownSteps = 12

/** The steps of a deployment with the duration of each. */
export function Timeline({ deployment }: { deployment: Deployment }) {
  const query = useLiveEvents(deployment)
  const startTime = findStartTime(query.data ?? [])
  return (
    <Section
      title={words.timeline}
      actions={
        startTime !== null && (
          <span className="tabular text-[0.8125rem] text-muted">
            {words.upAfter(formatDuration(startTime))}
          </span>
        )
      }
    >
      <Loaded query={query} loading={<LoadingSteps />}>
        {(events) => <Steps steps={toSteps(events)} deployment={deployment} />}
      </Loaded>
    </Section>
  )
}

function LoadingSteps() {
  return (
    <div className="grid gap-6 py-1">
      {[0, 1, 2, 3].map((row) => (
        <div key={row} className="grid gap-2 pl-6">
          <Skeleton className="w-40" />
          <Skeleton className="w-3/4" />
        </div>
      ))}
    </div>
  )
}

function Steps({ steps, deployment }: { steps: readonly Step[]; deployment: Deployment }) {
  const [showsAll, setShowsAll] = useState(false)
  const hidden = showsAll ? 0 : Math.max(0, steps.length - shownSteps)
  const current = findCurrentStep(steps, deployment)
  return (
    <>
      {hidden > 0 && (
        <Button size="small" className="mb-5" onClick={() => setShowsAll(true)}>
          {words.earlierSteps(hidden)}
        </Button>
      )}
      <ol>
        {steps.slice(hidden).map((step, index) => (
          <TimelineStep
            key={`${step.at} ${step.stage}`}
            step={step}
            deployment={deployment}
            current={step === current}
            isLast={index === steps.length - hidden - 1}
          />
        ))}
      </ol>
    </>
  )
}

interface TimelineStepProps {
  step: Step
  deployment: Deployment
  /** Whether this step is in progress. */
  current: boolean
  isLast: boolean
}

function TimelineStep({ step, deployment, current, isLast }: TimelineStepProps) {
  const { at, isChange, earlier, tookMilliseconds } = step
  const failed = step.status === 'failed' && step.stage !== 'termination'
  const isUp = !isChange && step.stage === null && step.status === 'running'
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 pb-5 pl-6 last:pb-0">
      {!isLast && <span aria-hidden className="absolute top-3 -bottom-2 left-[0.21875rem] w-px bg-line" />}
      <span
        aria-hidden
        className={classNames(
          'absolute top-[0.4375rem] left-0 size-2 rounded-full ring-4 ring-surface',
          current ? 'animate-pulse bg-busy' : failed ? 'bg-bad' : isUp ? 'bg-good' : 'bg-line-strong',
        )}
      />
      <h3 className="font-medium">
        {failed
          ? words.failedAt(words.stages[step.stage ?? ''] ?? step.stage ?? '')
          : (words.steps[nameStep(step)] ?? words.steps.other)}
      </h3>
      <p className="tabular text-right text-[0.8125rem] whitespace-nowrap text-muted">
        <time dateTime={at} title={formatMoment(at)}>
          {formatClock(at)}
        </time>
      </p>
      <p className="col-span-full min-w-0 break-words text-muted sm:col-span-1">
        {describeStep(step, deployment, current)}
        {step.transition?.phases && <Phases phases={step.transition.phases} />}
      </p>
      <p className="tabular col-span-full text-[0.8125rem] whitespace-nowrap text-muted sm:col-span-1 sm:text-right">
        {current ? (
          <Elapsed since={at} />
        ) : tookMilliseconds === null ? null : (
          (step.transition?.phases ? words.lasted : words.took)(formatDuration(tookMilliseconds))
        )}
      </p>
      {current && deployment.progress !== null && (
        <div className="col-span-full mt-2 flex items-center gap-3">
          <Progress
            value={deployment.progress}
            label={text.deployments.downloadProgress}
            className="flex-1"
          />
          <span className="tabular w-10 text-right text-[0.8125rem] text-muted">
            {formatPercent(deployment.progress)}
          </span>
        </div>
      )}
      {earlier.length > 0 && <EarlierMessages events={earlier} />}
    </li>
  )
}

function describeStep(step: Step, deployment: Deployment, current: boolean): string {
  const { instance_type, status, message, transition } = step
  const waiting = current ? deployment.status_message : null
  if (waiting !== null) return waiting
  if (transition?.phases) return words.ends[transition.type]
  // The page shows the reason for the present instance in its own section.
  if (instance_type !== null && instance_type === deployment.selected_instance_type)
    return words.chosenInstance(instance_type)
  return status === 'failed' ? parseFailure(message).sentence : message
}

/** How long each phase of a start, wake or sleep took. */
function Phases({ phases }: { phases: NonNullable<NonNullable<Step['transition']>['phases']> }) {
  return (
    <span className="tabular mt-0.5 flex flex-wrap gap-x-3 text-[0.8125rem]">
      {phases.map(({ phase, seconds }) => (
        <span key={phase} className="whitespace-nowrap">
          {words.phases[phase]} {formatDuration(seconds * 1_000)}
        </span>
      ))}
    </span>
  )
}

function Elapsed({ since }: { since: string }) {
  const milliseconds = Math.max(0, useNow(1_000) - Date.parse(since))
  // Round to whole seconds with a minimum of one, to hide flicker and clock differences.
  return text.deploymentParts.soFar(formatDuration(Math.max(1_000, Math.floor(milliseconds / 1_000) * 1_000)))
}

function EarlierMessages({ events }: { events: Step['earlier'] }) {
  return (
    <details className="col-span-full mt-1 text-[0.8125rem] text-muted">
      <summary className="w-fit cursor-pointer rounded hover:text-ink">
        {words.earlierMessages(events.length)}
      </summary>
      <ul className="mt-1 grid gap-0.5">
        {events.map(({ id, at, message }) => (
          <li key={id} className="flex justify-between gap-4">
            <span className="min-w-0 break-words">{message}</span>
            <time dateTime={at} className="tabular whitespace-nowrap">
              {formatClock(at)}
            </time>
          </li>
        ))}
      </ul>
    </details>
  )
}
