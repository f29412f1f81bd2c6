import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { sumTokens } from './store.ts'
import { sumAmount } from './summary.ts'

/** The usage of a deployment so far. */
export interface DeploymentUsage {
  requests: number
  inputTokens: number
  outputTokens: number
  /** From the start of each instance to its release or loss, or to now */
  instanceSeconds: number
  /** Total cost, a decimal string in the currency's main unit; not rounded */
  cost: string
  currency: string
}

export async function readDeploymentUsage(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'prices'>,
  deployment: { id: string; organization_id: number },
): Promise<DeploymentUsage> {
  const { db, clock, config } = deps
  const { id, organization_id: organizationId } = deployment
  return {
    ...(await sumTokens(db, id)),
    instanceSeconds: await sumInstanceSeconds(db, id, clock()),
    cost: await sumAmount(deps, organizationId, { deploymentId: id }),
    currency: config.billing.currency,
  }
}

async function sumInstanceSeconds(db: Database, deploymentId: string, now: Date): Promise<number> {
  const spans = await db
    .selectFrom('instance_spans')
    .select(['started_at', 'ended_at', 'voided_at'])
    .where('deployment_id', '=', deploymentId)
    .execute()
  const billed = spans.filter(({ voided_at: voidedAt }) => voidedAt === null)
  // Instances that never became ready are free. They count only until one did.
  const counted = billed.length > 0 ? billed : spans
  const milliseconds = counted.map(({ started_at: startedAt, ended_at: endedAt }) =>
    Math.max(0, (endedAt ?? now).getTime() - startedAt.getTime()),
  )
  return milliseconds.reduce((sum, each) => sum + each, 0) / 1000
}
