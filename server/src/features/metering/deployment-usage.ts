import type { Application } from '../../application.ts'
import type { Viewer } from '../../viewer.ts'
import { getOwnDeployment } from '../deployments/get.ts'
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
  application: Pick<Application, 'db' | 'clock' | 'prices' | 'config'>,
  viewer: Viewer,
  id: string,
): Promise<DeploymentUsage> {
  const { db, clock, config } = application
  const deployment = await getOwnDeployment({ db }, viewer, id)
  const tokens = await db
    .selectFrom('token_usage')
    .select(({ fn }) => [
      fn.sum<string | null>('requests').as('requests'),
      fn.sum<string | null>('input_tokens').as('input_tokens'),
      fn.sum<string | null>('output_tokens').as('output_tokens'),
    ])
    .where('deployment_id', '=', deployment.id)
    .executeTakeFirstOrThrow()
  const { instance_started_at: started, instance_released_at: released } = deployment
  const milliseconds = started === null ? 0 : (released ?? clock()).getTime() - started.getTime()
  return {
    requests: Number(tokens.requests ?? 0),
    inputTokens: Number(tokens.input_tokens ?? 0),
    outputTokens: Number(tokens.output_tokens ?? 0),
    instanceSeconds: Math.max(0, milliseconds / 1000),
    cost: await sumAmount(application, deployment.organization_id, { deploymentId: deployment.id }),
    currency: config.billing.currency,
  }
}
