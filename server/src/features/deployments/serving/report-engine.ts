import { sql } from 'kysely'
import { notify } from '../../../database/notifications.ts'
import type { Database } from '../../../database/tables.ts'

/**
 * Makes an instance due immediately, because its engine did not answer or the runtime reports a start or a
 * loss. Also counts during a pass, which may have asked the runtime before. Of many unanswered requests one
 * causes a check: a deployment due within a second keeps its schedule.
 */
export async function reportEngine(
  db: Database,
  instanceId: string,
  report: 'unresponsive' | 'started' | 'lost',
): Promise<void> {
  const isByRuntime = report !== 'unresponsive'
  const status = { unresponsive: null, started: 'deploying', lost: 'running' }[report]
  // Like all others that change a deployment and its instances, locks the deployment first.
  const { rows } = await sql<{ id: string }>`
    WITH locked AS MATERIALIZED (
      SELECT deployments.id FROM deployments JOIN instances ON deployment_id = deployments.id
      WHERE instances.id = ${instanceId} AND instances.status = coalesce(${status}, instances.status)
      FOR NO KEY UPDATE OF deployments
    ), due AS (
      UPDATE instances SET due_at = NULL FROM locked
      WHERE instances.id = ${instanceId} AND deployment_id = locked.id
    )
    UPDATE deployments SET reconcile_at = now() FROM locked
    WHERE deployments.id = locked.id AND (${isByRuntime}::boolean OR status = 'running'
      AND reconcile_at NOT BETWEEN now() - interval '1 second' AND now() + interval '1 second')
    RETURNING deployments.id`.execute(db)
  for (const { id } of rows) await notify(db, 'deployment_due', id)
}
