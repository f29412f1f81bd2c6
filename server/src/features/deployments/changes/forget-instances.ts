import { sql } from 'kysely'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import { changeSpans } from '../../metering/spans.ts'
import { toWaitingColumns } from '../state/waiting.ts'

const message = 'This installation was copied. The engines belong to the original, so the deployment sleeps.'

/** Puts all deployments to sleep, and leaves the engines, which belong to another installation, alone. */
export async function forgetInstances(transaction: DatabaseTransaction, at: Date): Promise<void> {
  const nothing = toWaitingColumns(null)
  const { rows: spans } = await sql<{ engineId: string; organizationId: number }>`
    SELECT instances.id AS "engineId", organization_id AS "organizationId"
    FROM instances JOIN deployments ON deployments.id = deployment_id WHERE instances.status <> 'released'`.execute(
    transaction,
  )
  await changeSpans(
    transaction,
    spans.map((instance) => ({ kind: 'close' as const, instance, now: at })),
  )
  await transaction
    .updateTable('instances')
    .set({ ...nothing, status: 'released', engine_url: null, due_at: null, hardware_asked_at: null })
    .set({ updated_at: at, status_changed_at: at })
    .where('status', '<>', 'released')
    .execute()
  const idle = {
    ...nothing,
    recovery: null,
    refusal: null,
    refusals: 0,
    reconcile_at: null,
    leased_by: null,
    leased_until: null,
    updated_at: at,
    status_changed_at: at,
  }
  await transaction
    .updateTable('deployments')
    .set({ ...idle, status: 'terminated', terminated_at: at })
    .where('status', '=', 'terminating')
    .execute()
  const asleep = await transaction
    .updateTable('deployments')
    .set({ ...idle, status: 'sleeping', desired_state: 'asleep' })
    .where('status', 'not in', ['sleeping', 'failed', 'terminated'])
    .returning('id')
    .execute()
  if (asleep.length === 0) return
  await transaction
    .insertInto('deployment_events')
    .values(
      asleep.map(({ id }) => ({ deployment_id: id, at, status: 'sleeping' as const, stage: null, message })),
    )
    .execute()
}
