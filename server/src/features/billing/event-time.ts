import { sql } from 'kysely'

/**
 * SQL: when the payment processor counts a `bucket` with its `report`, if it has one. An hour without a whole unit has no report: its
 * fraction is in the next one, so it counts no earlier than the report before it, which may have a time in the next period.
 */
export const eventTime = sql<Date>`coalesce(report.at, greatest(bucket.hour + interval '59 minutes 59 seconds',
  (SELECT earlier.at FROM usage_reports AS earlier
    WHERE earlier.organization_id = bucket.organization_id AND earlier.price_key = bucket.price_key AND earlier.hour < bucket.hour
    ORDER BY earlier.hour DESC LIMIT 1)))`
