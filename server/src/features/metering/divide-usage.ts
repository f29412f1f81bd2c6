import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { UsageBucket } from './ledger.ts'
import { toBucketRow } from './store.ts'
import { tokenMeters } from './token-meters.ts'
import { ownerTeam } from './usage-team.ts'

/**
 * The common table `shares`: what each caller and each team has of the usage of the hours in [from, to),
 * sealed and `open`. Tokens belong to the caller, and to their team as of the request. Of an instance's
 * seconds, each caller has the engine's work for them in that hour; if several at the same time add up to
 * more, they have their shares. The rest belongs to the deployment's owner (`user_id` is null), so that each
 * hour's shares add up to it.
 */
export function divideUsage(
  organizationId: number,
  { from, to }: { from: Date; to: Date },
  open: readonly UsageBucket[],
): RawBuilder<unknown> {
  const of = sql`hour, before_charging, meter, dimensions, unit_amount, currency, quantity`
  return sql`buckets AS (
    SELECT deployment_id, meter, hour, before_charging, late_for, dimensions, quantity, unit_amount, currency, team_id
    FROM usage_buckets
    WHERE organization_id = ${organizationId} AND sealed_at IS NOT NULL AND hour >= ${from} AND hour < ${to}
    UNION ALL
    SELECT row.*, ${ownerTeam} FROM jsonb_to_recordset(${JSON.stringify(open.map(toBucketRow))}::jsonb) AS row (deployment_id uuid, meter text,
      hour timestamptz, before_charging boolean, late_for timestamptz, dimensions jsonb, quantity numeric,
      unit_amount numeric, currency text)
      JOIN deployments ON deployments.id = row.deployment_id
  ), worked AS (
    -- Milliseconds of each caller. "through" orders the callers, so that rounding loses nothing.
    SELECT deployment_id, used_hour, user_id, outside_name, team_id, own,
      sum(own) OVER (PARTITION BY deployment_id, used_hour ORDER BY user_id, outside_name, team_id) AS through,
      sum(own) OVER (PARTITION BY deployment_id, used_hour) AS of_all
    FROM (
      SELECT deployment_id, coalesce(late_for, hour) AS used_hour, user_id, outside_name, team_id, sum(processing_milliseconds) AS own
      FROM token_usage
      WHERE organization_id = ${organizationId} AND coalesce(late_for, hour) >= ${from} AND coalesce(late_for, hour) < ${to}
      GROUP BY 1, 2, 3, 4, 5
    ) AS callers
  ), held AS (
    SELECT *, quantity * 1000 AS milliseconds,
      sum(quantity * 1000) OVER (PARTITION BY deployment_id, hour) AS of_hour
    FROM buckets WHERE meter = 'gpu_instance_seconds'
  ), parts AS (
    SELECT held.deployment_id, worked.user_id, outside_name, worked.team_id, held.team_id AS owner_team_id, hour, before_charging, meter, dimensions, unit_amount, currency,
      (div(milliseconds * through, greatest(of_all, of_hour)) - div(milliseconds * (through - own), greatest(of_all, of_hour)))
        / 1000 AS quantity
    FROM held JOIN worked ON worked.deployment_id = held.deployment_id AND worked.used_hour = held.hour
    UNION ALL
    SELECT buckets.deployment_id, user_id, outside_name, tokens.team_id, buckets.team_id, buckets.hour, buckets.before_charging, buckets.meter, dimensions, unit_amount, currency, counted.quantity
    FROM buckets JOIN token_usage AS tokens ON tokens.deployment_id = buckets.deployment_id AND tokens.hour = buckets.hour
        AND tokens.before_charging = buckets.before_charging AND tokens.late_for IS NOT DISTINCT FROM buckets.late_for
        AND tokens.model_name = buckets.dimensions ->> 'model_name'
      CROSS JOIN LATERAL ${tokenMeters} AS counted (meter, quantity)
    WHERE counted.meter = buckets.meter
  ), shares AS (
    SELECT deployment_id, user_id, outside_name, team_id, ${of} FROM parts
    UNION ALL
    -- What no caller has is the difference to the whole.
    SELECT deployment_id, NULL, NULL, team_id, ${of} FROM buckets
    UNION ALL
    SELECT deployment_id, NULL, NULL, owner_team_id, hour, before_charging, meter, dimensions, unit_amount, currency, -quantity FROM parts
  )`
}
