import type { Services } from '../../services.ts'
import type { Price } from './prices.ts'
import { sumTokens } from './store.ts'
import { sumAmount } from './summary.ts'

/** The usage of a deployment so far. */
export interface DeploymentUsage {
  requests: number
  inputTokens: number
  outputTokens: number
  /** From the start of the instance to its release, or to now */
  instanceSeconds: number
  /** Total cost, a decimal string in the currency's main unit; not rounded */
  cost: string
  currency: string
}

export async function readDeploymentUsage(
  deps: Pick<Services, 'db' | 'clock' | 'config'> & { prices: readonly Price[] },
  deployment: {
    id: string
    organization_id: number
    instance_started_at: Date | null
    instance_released_at: Date | null
  },
): Promise<DeploymentUsage> {
  const { db, clock, config } = deps
  const { id, organization_id: organizationId } = deployment
  const { instance_started_at: started, instance_released_at: released } = deployment
  const milliseconds = started === null ? 0 : (released ?? clock()).getTime() - started.getTime()
  return {
    ...(await sumTokens(db, id)),
    instanceSeconds: Math.max(0, milliseconds / 1000),
    cost: await sumAmount(deps, organizationId, { deploymentId: id }),
    currency: config.billing.currency,
  }
}
