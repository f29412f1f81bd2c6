import { useQuery } from '@tanstack/react-query'
import type { Deployment } from '../../contract.ts'
import { useNow } from '../../components/use-now.ts'
import { eventsQuery } from '../../domain/deployments/events.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { formatDuration, formatMoney } from '../../format.ts'
import { text } from '../../text/index.ts'
import { deploymentUsageQuery } from './queries.ts'
import { usePrices } from './use-prices.ts'

const words = text.deploymentParts.head

/** Since when a deployment is ready, its price, what it has cost, and what its sleep saved. */
export function HeadFacts({ deployment }: { deployment: Deployment }) {
  const { inspect } = useAccess(deployment)
  const { id, status, instances } = deployment
  const isRunning = status === 'running'
  const { data: events = [] } = useQuery({ ...eventsQuery(id), enabled: isRunning })
  const { data: usage } = useQuery({
    ...deploymentUsageQuery(id, deployment.terminated_at !== null),
    enabled: inspect,
  })
  const priceOf = usePrices(isRunning)
  const now = useNow(10_000)
  const ready = events.findLast(({ transition }) => transition?.phases && transition.type !== 'sleep')
  const price = instances.length === 1 ? priceOf(deployment, instances[0]!.instance_type) : null
  const facts = [
    isRunning && ready && words.readyFor(formatSpan(now - Date.parse(ready.at))),
    isRunning && price,
    usage && text.deploymentParts.soFar(formatMoney(usage.cost, usage.currency)),
    usage && Number(usage.saved ?? 0) > 0 && words.saved(formatMoney(usage.saved!, usage.currency)),
  ].filter((fact) => typeof fact === 'string')
  if (facts.length === 0) return null
  return <span className="inline-block tabular first-letter:uppercase">{facts.join(', ')}</span>
}

/** Whole minutes, or seconds during the first one */
function formatSpan(milliseconds: number): string {
  const unit = milliseconds < 60_000 ? 1_000 : 60_000
  return formatDuration(Math.max(1_000, Math.floor(milliseconds / unit) * unit)).replace(/ 0\ss$/u, '')
}
