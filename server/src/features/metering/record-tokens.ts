import { sql } from 'kysely'
import type { Application } from '../../application.ts'
import { floorHour } from './hours.ts'

/** Tokens that one request took in and gave out. */
export interface TokenUsage {
  inputTokens: number
  outputTokens: number
}

/** Adds a request to the deployment's current UTC hour, or to the first that is not sealed where a clock is that far behind. */
export async function recordTokens(
  { db, clock }: Pick<Application, 'db' | 'clock'>,
  deployment: { deploymentId: string; organizationId: number; modelName: string },
  usage: TokenUsage,
): Promise<void> {
  const hour = floorHour(clock())
  // The lock keeps the hour from being sealed meanwhile; after waiting for it the row is read anew.
  const sealed = db
    .selectFrom('usage_cursors')
    .select('sealed_through')
    .where('organization_id', '=', deployment.organizationId)
    .forKeyShare()
  await db
    .with('cursor', () => sealed)
    .insertInto('token_usage')
    .values({
      deployment_id: deployment.deploymentId,
      organization_id: deployment.organizationId,
      model_name: deployment.modelName,
      hour: sql<Date>`greatest(${hour}::timestamptz, (SELECT sealed_through FROM cursor))`,
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
