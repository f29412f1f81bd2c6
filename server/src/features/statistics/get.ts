import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { getOwnDeployment } from '../deployments/get.ts'
import type { EngineConnections } from '../inference/engines.ts'
import { listMinutes } from './store.ts'
import { findWindowStart, summarizeMinutes } from './summarize.ts'
import type { StatisticsSummary, StatisticsWindow } from './summarize.ts'

/** How requests to a deployment go. */
export interface DeploymentStatistics extends StatisticsSummary {
  window: StatisticsWindow
  from: Date
  to: Date
  /** Of those that came to this process */
  inFlight: number
}

/** Of one of the viewer's own deployments, up to a few seconds ago; throws `not_found` as `getOwnDeployment` does. */
export async function getStatistics(
  { db, clock, engines }: Pick<Services, 'db' | 'clock'> & { engines: EngineConnections },
  viewer: Viewer,
  id: string,
  window: StatisticsWindow,
): Promise<DeploymentStatistics> {
  const deployment = await getOwnDeployment({ db }, viewer, id)
  const to = clock()
  const from = findWindowStart(window, to)
  const summary = summarizeMinutes(await listMinutes(db, deployment.id, from), window, from)
  return { ...summary, window, from, to, inFlight: engines.inFlight.get(deployment.id) ?? 0 }
}
