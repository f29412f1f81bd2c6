import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { accessDeployment, toOwnership } from '../deployments/state/access-deployment.ts'
import type { DeploymentReference } from '../deployments/state/access-deployment.ts'
import { judgeAccess } from '../deployments/state/judge-access.ts'
import { listHeldSpans } from '../metering/held-spans.ts'
import type { Database } from '../../database/tables.ts'
import { sumCallers } from './caller-store.ts'
import { addBuckets, createHistogram } from './histogram.ts'
import { listTotals } from './store.ts'
import type { Resolution } from './store.ts'
import { findWindowStart, summarize, toPercentiles, windows } from './summarize.ts'
import type { Percentiles, StatisticsSummary, StatisticsWindow } from './summarize.ts'

/** Request statistics of a deployment over a window. */
export interface DeploymentStatistics extends StatisticsSummary {
  window: StatisticsWindow
  from: Date
  to: Date
  /** Requests in flight through this server process */
  inFlight: number
  /** For those who don't manage the deployment, only themselves */
  members: MemberStatistics[]
}

/** The requests of one person. */
export interface MemberStatistics {
  userId: number
  email: string
  name: string
  requests: number
  inputTokens: number
  outputTokens: number
  /** Time in Berth's queue */
  waiting: Percentiles
}

/** The dependencies of the statistics routes. */
export interface StatisticsDeps extends Pick<Services, 'db' | 'clock' | 'config'> {
  /** Requests in flight by deployment id */
  inference: { inFlight: { get(deploymentId: string): number } }
}

/** Statistics of a deployment, a few seconds behind. Throws like `accessDeployment`. */
export async function getStatistics(
  { db, clock, inference }: StatisticsDeps,
  viewer: Viewer,
  reference: DeploymentReference,
  window: StatisticsWindow,
): Promise<DeploymentStatistics> {
  const deployment = await accessDeployment({ db }, viewer, 'read', reference)
  const to = clock()
  const from = findWindowStart(window, to)
  const { resolution } = windows[window]
  const [totals, spans] = await Promise.all([
    listTotals(db, resolution, deployment.id, from),
    listHeldSpans(db, deployment.id, from),
  ])
  const summary = summarize(totals, spans, window, { from, to })
  const refusal = judgeAccess({ act: 'inspect', person: viewer, deployment: toOwnership(deployment) })
  const userId = refusal === null ? null : viewer.userId
  const members = await listMembers(db, resolution, { deploymentId: deployment.id, from, userId })
  return { ...summary, window, from, to, inFlight: inference.inFlight.get(deployment.id), members }
}

async function listMembers(
  db: Database,
  resolution: Resolution,
  { deploymentId, from, userId }: { deploymentId: string; from: Date; userId: number | null },
): Promise<MemberStatistics[]> {
  const sums = await sumCallers(db, resolution, deploymentId, from, userId)
  return sums.map(({ waitingBuckets, ...sum }) => {
    const histogram = createHistogram()
    addBuckets(histogram, waitingBuckets)
    return { ...sum, waiting: toPercentiles(histogram) }
  })
}
