import type { Database } from '../../src/database/tables.ts'
import { changeSpans } from '../../src/features/metering/spans.ts'

/** Gives a requested deployment an instance that serves from `now` on, as a worker does. */
export async function serveInstance(db: Database, deploymentId: string, now: Date): Promise<void> {
  const instance = await db
    .selectFrom('instances')
    .innerJoin('deployments', 'deployments.id', 'deployment_id')
    .select([
      'instances.id as engineId',
      'deployment_id as deploymentId',
      'organization_id as organizationId',
    ])
    .select('instances.created_at as requestedAt')
    .where('deployment_id', '=', deploymentId)
    .executeTakeFirstOrThrow()
  await db.transaction().execute(async (transaction) => {
    const hardware = { instanceId: 'i', region: 'test-region', startedAt: now }
    await changeSpans(transaction, [
      { kind: 'open', instance: { ...instance, instanceType: 'small' }, hardware, now },
      { kind: 'confirm', instance, now },
    ])
  })
}
