import type { Database } from '../../src/database/tables.ts'
import { lockLedger } from '../../src/features/metering/spans.ts'
import type { Client } from './client.ts'

/** Requests a deployment and inserts the time in which it had an instance; returns its id. */
export async function insertInstanceSpan(
  db: Database,
  client: Client,
  organizationId: number,
  { from, to }: { from: Date; to: Date },
): Promise<string> {
  const { body } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  await lockLedger(db, organizationId)
  await db
    .insertInto('instance_spans')
    .values({
      organization_id: organizationId,
      deployment_id: body.id,
      engine_id: body.instances[0].id,
      instance_type: 'local-cpu',
      region: 'local',
      started_at: from,
      reported_start_at: from,
      ended_at: to,
      reported_end_at: to,
      confirmed_at: from,
    })
    .execute()
  return body.id
}
