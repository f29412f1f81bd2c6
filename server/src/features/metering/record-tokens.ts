import { sql } from 'kysely'
import type { Application } from '../../application.ts'

/** Tokens that one request took in and gave out. */
export interface TokenUsage {
  inputTokens: number
  outputTokens: number
}

/** Adds a request to the deployment's current UTC hour. */
export async function recordTokens(
  { db, clock }: Pick<Application, 'db' | 'clock'>,
  deployment: { deploymentId: string; organizationId: number; modelName: string },
  usage: TokenUsage,
): Promise<void> {
  const hour = new Date(clock())
  hour.setUTCMinutes(0, 0, 0)
  await db
    .insertInto('token_usage')
    .values({
      deployment_id: deployment.deploymentId,
      organization_id: deployment.organizationId,
      model_name: deployment.modelName,
      hour,
      requests: 1,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
    })
    .onConflict((conflict) =>
      conflict.columns(['deployment_id', 'hour']).doUpdateSet({
        requests: sql`token_usage.requests + 1`,
        input_tokens: sql`token_usage.input_tokens + excluded.input_tokens`,
        output_tokens: sql`token_usage.output_tokens + excluded.output_tokens`,
      }),
    )
    .execute()
}
