import type { Database } from '../../database/tables.ts'

/** A time in which a deployment held an instance; `endedAt` is null while it does. */
export interface HeldSpan {
  startedAt: Date
  endedAt: Date | null
}

/** The times in which a deployment held its instances, without those that ended before `from`. */
export function listHeldSpans(db: Database, deploymentId: string, from: Date): Promise<HeldSpan[]> {
  return db
    .selectFrom('instance_spans')
    .select(['started_at as startedAt', 'ended_at as endedAt'])
    .where('deployment_id', '=', deploymentId)
    .where((where) => where.or([where('ended_at', 'is', null), where('ended_at', '>=', from)]))
    .execute()
}
