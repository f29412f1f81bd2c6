import { Suspense, useState } from 'react'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import type { Deployment } from '../../contract.ts'
import { isChanging, isFinished } from '../../domain/deployments/status.ts'
import { isOfEndpoint } from '../../domain/models/endpoint-models.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { formatBytes, formatMoment, formatNumber, formatRelative } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { describeRule, toRules } from '../../schedules.ts'
import { text } from '../../text/index.ts'
import { usePrices } from './use-prices.ts'

const words = text.instances

const tones: Record<Instance['status'], Tone> = {
  starting: 'busy',
  running: 'good',
  draining: 'neutral',
  releasing: 'neutral',
}

const PolicyDialog = lazyPart(() => import('./policy-dialog.tsx').then((module) => module.PolicyDialog))

type Instance = Deployment['instances'][number]

/** The live instances of a deployment with their memory, load and price, and its scaling and sleep. */
export function InstancesSection({ deployment }: { deployment: Deployment }) {
  const { status, instances, status_message: message } = deployment
  const priceOf = usePrices(instances.length > 0)
  if (isFinished(deployment) && instances.length === 0) return null
  return (
    <Section title={words.title} flush actions={<EditScaling deployment={deployment} />}>
      {instances.length > 0 && (
        <ul aria-label={words.title} className="divide-y border-b">
          {instances.map((instance) => (
            <Row key={instance.id} instance={instance} price={priceOf(deployment, instance.instance_type)} />
          ))}
        </ul>
      )}
      <div className="grid gap-1 px-5 py-3.5">
        {instances.length === 0 && <p>{words.none}</p>}
        {status === 'running' && !isChanging(deployment) && message !== null && <p>{message}</p>}
        {isOfEndpoint(deployment) ? (
          <p className="text-muted">{words.ofEndpoint}</p>
        ) : (
          <ScalingSentences policy={deployment.policy} />
        )}
      </div>
    </Section>
  )
}

/** The button for the dialog of scaling and sleep; nothing for those who may not change it. */
export function EditScaling({ deployment }: { deployment: Deployment }) {
  const { change } = useAccess(deployment)
  const [isEditing, setEditing] = useState(false)
  if (!change || isFinished(deployment) || isOfEndpoint(deployment)) return null
  return (
    <>
      <Button onClick={() => setEditing(true)}>{words.edit}</Button>
      {isEditing && (
        <Suspense>
          <PolicyDialog deployment={deployment} onClose={() => setEditing(false)} />
        </Suspense>
      )}
    </>
  )
}

/** When a deployment scales and sleeps, in words. */
export function ScalingSentences({ policy }: Pick<Deployment, 'policy'>) {
  return (
    <>
      <p className="text-muted">{describePolicy(policy)}</p>
      {toRules(policy.schedules).map((rule, index) => (
        <p key={index} className="text-muted">
          {describeRule(rule)}
        </p>
      ))}
    </>
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
  const { status, instance_type: type, region, memory_bytes: memory } = instance
  const { started_at: startedAt, in_flight: inFlight } = instance
  const facts = [
    memory !== null && memory > 0 && formatBytes(memory),
    status === 'running' && words.inFlight(inFlight, formatNumber(inFlight)),
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
