import { sql } from 'kysely'
import type { Services } from '../../../services.ts'
import { findHeldCost } from '../../metering/instance-prices.ts'
import type { Deployment } from '../state/store.ts'

/** What a deployment has saved by sleep. */
export interface AsleepTime {
  seconds: number
  /** Cost of its least instances at the present price, a decimal string; null without a price */
  saved: string | null
}

export async function readAsleepTime(
  { db, clock, prices }: Pick<Services, 'db' | 'clock' | 'prices'>,
  { id, min_instances: least }: Pick<Deployment, 'id' | 'min_instances'>,
): Promise<AsleepTime> {
  const now = clock()
  const [{ rows }, last] = await Promise.all([
    sql<{ seconds: number }>`
      SELECT coalesce(sum(extract(epoch FROM coalesce(until, ${now}) - at)), 0)::float8 AS seconds
      FROM (SELECT at, status, lead(at) OVER (ORDER BY id) AS until FROM deployment_events WHERE deployment_id = ${id}) AS spells
      WHERE status = 'sleeping'`.execute(db),
    db
      .selectFrom('instances')
      .select(['instance_type as instanceType', 'region'])
      .where('deployment_id', '=', id)
      .where('ready_at', 'is not', null)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst(),
  ])
  const seconds = Math.max(0, rows[0]?.seconds ?? 0)
  const { instanceType = null, region = null } = last ?? {}
  const isPriced = instanceType !== null && region !== null
  return {
    seconds,
    saved: isPriced ? findHeldCost(prices, { instanceType, region }, seconds * least, now) : null,
  }
}
