import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { accessDeployment } from '../deployments/access-deployment.ts'
import { listMinutes } from './store.ts'
import { findWindowStart, summarizeMinutes } from './summarize.ts'
import type { StatisticsSummary, StatisticsWindow } from './summarize.ts'

/** Request statistics of a deployment over a window. */
export interface DeploymentStatistics extends StatisticsSummary {
  window: StatisticsWindow
  from: Date
  to: Date
  /** Requests in flight through this server process */
  inFlight: number
}

/** The dependencies of the statistics routes. */
export interface StatisticsDeps extends Pick<Services, 'db' | 'clock'> {
  /** Requests in flight by deployment id */
  inference: { inFlight: ReadonlyMap<string, number> }
}

/** Statistics of a deployment, a few seconds behind. Throws like `accessDeployment`. */
export async function getStatistics(
  { db, clock, inference }: StatisticsDeps,
  viewer: Viewer,
  id: string,
  window: StatisticsWindow,
): Promise<DeploymentStatistics> {
  const deployment = await accessDeployment({ db }, viewer, 'read', id)
  const to = clock()
  const from = findWindowStart(window, to)
  const summary = summarizeMinutes(await listMinutes(db, deployment.id, from), window, from)
  return { ...summary, window, from, to, inFlight: inference.inFlight.get(deployment.id) ?? 0 }
}
