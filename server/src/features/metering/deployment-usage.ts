import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { getOwnDeployment } from '../deployments/get.ts'
import type { Price } from './prices.ts'
import { sumTokens } from './store.ts'
import { sumAmount } from './summary.ts'

/** What a deployment has used so far; `instanceSeconds` run from the instance's start to its release, or to now. */
export interface DeploymentUsage {
  requests: number
  inputTokens: number
  outputTokens: number
  instanceSeconds: number
  /** Of all of it at the prices of the usage summary, a decimal string in the currency's main unit; not rounded */
  cost: string
  currency: string
}

export async function getDeploymentUsage(
  application: Pick<Services, 'db' | 'clock' | 'config'> & { prices: readonly Price[] },
  viewer: Viewer,
  id: string,
): Promise<DeploymentUsage> {
  const { db, clock, config } = application
  const deployment = await getOwnDeployment({ db }, viewer, id)
  const tokens = await sumTokens(db, deployment.id)
  const { instance_started_at: started, instance_released_at: released } = deployment
  const milliseconds = started === null ? 0 : (released ?? clock()).getTime() - started.getTime()
  return {
    ...tokens,
    instanceSeconds: Math.max(0, milliseconds / 1000),
    cost: await sumAmount(application, deployment.organization_id, { deploymentId: deployment.id }),
    currency: config.billing.currency,
  }
}
