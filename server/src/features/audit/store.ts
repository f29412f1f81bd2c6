import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { deleteOlder } from '../../database/delete-older.ts'
import type { Database } from '../../database/tables.ts'
import type { AuditLogTable } from './tables.ts'

export type AuditRow = Selectable<AuditLogTable>

export interface AuditFilter {
  organizationId: number
  action?: string | undefined
  actorUserId?: number | undefined
  /** Inclusive */
  from?: Date | undefined
  /** Exclusive */
  to?: Date | undefined
}

const batchSize = 1_000

/** A page of an organization's audit log, newest first. */
export async function listActions(
  db: Database,
  filter: AuditFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ items: AuditRow[]; total: number }> {
  const matching = selectActions(db, filter)
  const [items, { total }] = await Promise.all([
    matching.selectAll().orderBy('id', 'desc').limit(limit).offset(offset).execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { items, total }
}

/** All matching rows, newest first, read in batches. */
export async function* exportActions(db: Database, filter: AuditFilter): AsyncIterable<AuditRow> {
  const matching = selectActions(db, filter).selectAll().orderBy('id', 'desc').limit(batchSize)
  for (let before: number | null = null; ;) {
    const batch: AuditRow[] = await (before === null ? matching : matching.where('id', '<', before)).execute()
    yield* batch
    if (batch.length < batchSize) return
    before = batch.at(-1)!.id
  }
}

function selectActions(db: Database, { organizationId, action, actorUserId, from, to }: AuditFilter) {
  return db
    .selectFrom('audit_log')
    .where('organization_id', '=', organizationId)
    .$if(action !== undefined, (query) => query.where(sql`action`, '=', action))
    .$if(actorUserId !== undefined, (query) => query.where('actor_user_id', '=', actorUserId!))
    .$if(from !== undefined, (query) => query.where('at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('at', '<', to!))
}

/** Deletes rows from before `expiredBefore`; the database refuses any other deletion. */
export async function deleteExpiredActions(db: Database, expiredBefore: Date): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const moment = expiredBefore.toISOString()
    await sql`SELECT set_config('berth.audit_log_expired_before', ${moment}, true)`.execute(transaction)
    await deleteOlder(transaction, 'audit_log', 'at', expiredBefore)
  })
}
