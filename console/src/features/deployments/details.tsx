import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { classNames } from '../../class-names.ts'
import type { Deployment } from '../../contract.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Figure, Section } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { formatDuration, formatMoment, formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { nameSharing } from './name-sharing.ts'
import { usePayer } from './payer.ts'
import { deploymentUsageQuery } from './queries.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { isEnding } from '../../domain/deployments/status.ts'

const words = text.deploymentParts

/** A deployment's cost, names and ids. */
export function Details({ deployment }: { deployment: Deployment }) {
  const { inspect, isOwner } = useAccess(deployment)
  const { name: payer } = usePayer(deployment)
  return (
    <Section title={words.details}>
      <div className="grid gap-6">
        {inspect && <UsageFigures deployment={deployment} wide />}
        <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
          <Fact label={words.callName} value={deployment.inference_model_uid} copied />
          <Fact label={words.alias} value={deployment.alias} copied />
          <Fact label={words.deploymentId} value={deployment.id} copied />
          <Fact label={words.instanceType} value={deployment.selected_instance_type} />
          <Fact label={words.engine} value={describeEngine(deployment)} plain />
          <Fact label={words.instanceId} value={deployment.instance_id} copied />
          <Fact label={words.clusterId} value={deployment.cluster_id} />
          <Fact label={words.allocationId} value={deployment.gpu_allocation_id} />
          <Fact label={words.owner} value={isOwner ? null : describeOwner(deployment)} plain />
          <Fact
            label={words.sharedWith}
            value={deployment.shared_with && payer && nameSharing(deployment.shared_with, payer)}
            plain
          />
          <Fact label={words.paidBy} value={payer} plain />
          <Fact label={words.requestedAt} value={formatMoment(deployment.created_at)} plain />
          {deployment.terminated_at !== null && (
            <Fact label={words.terminatedAt} value={formatMoment(deployment.terminated_at)} plain />
          )}
        </dl>
      </div>
    </Section>
  )
}

/** Cost, time and usage since the deployment was created. */
export function UsageFigures({ deployment, wide }: { deployment: Deployment; wide?: boolean }) {
  const { data } = useQuery(
    deploymentUsageQuery(deployment.id, isEnding(deployment) && deployment.terminated_at !== null),
  )
  const shown = (value: (usage: NonNullable<typeof data>) => ReactNode) =>
    data ? value(data) : <Skeleton className="my-1 h-5 w-16" />
  return (
    <dl className={classNames('grid grid-cols-2 gap-4', wide && 'sm:grid-cols-5')}>
      <Figure label={words.costSoFar} value={shown(({ cost, currency }) => formatMoney(cost, currency))} />
      <Figure
        label={words.instanceTime}
        value={shown(({ instance_seconds }) => formatDuration(Math.floor(instance_seconds) * 1_000))}
      />
      {data !== undefined && data.asleep_seconds >= 1 && (
        <>
          <Figure label={words.asleepTime} value={formatDuration(Math.floor(data.asleep_seconds) * 1_000)} />
          <Figure
            label={words.savedBySleep}
            value={data.saved === null ? words.noValue : formatMoney(data.saved, data.currency)}
          />
        </>
      )}
      <Figure label={words.requests} value={shown(({ requests }) => formatNumber(requests))} />
      {wide && (
        <Figure label={words.inputTokens} value={shown(({ input_tokens }) => formatNumber(input_tokens))} />
      )}
      <Figure label={words.outputTokens} value={shown(({ output_tokens }) => formatNumber(output_tokens))} />
    </dl>
  )
}

const describeOwner = ({ owner: { name, email } }: Deployment) => (name === '' ? email : `${name} (${email})`)

/** The name and version as in the engine's own releases, such as `vLLM 0.28.0` or `llama.cpp b10964`. */
function describeEngine({ engine }: Deployment): string | null {
  if (engine === null) return null
  const name = words.engineNames[engine.name] ?? engine.name
  const prefix = words.engineVersionPrefixes[engine.name] ?? ''
  return engine.version === null ? name : `${name} ${prefix}${engine.version}`
}

interface FactProps {
  label: string
  /** Null hides the row. */
  value: string | null
  copied?: boolean
  plain?: boolean
}

function Fact({ label, value, copied, plain }: FactProps) {
  if (value === null) return null
  return (
    <div className="grid gap-0.5">
      <dt className="text-[0.8125rem] text-muted">{label}</dt>
      <dd className="flex min-h-7 items-center justify-between gap-2">
        <span className={plain ? 'min-w-0 wrap-anywhere' : 'min-w-0 font-mono text-xs break-all'}>
          {value}
        </span>
        {copied && <CopyButton value={value} label={text.common.copy(label)} />}
      </dd>
    </div>
  )
}
