import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { runUsageChecks } from './anomalies.ts'
import type { UsageCheck } from './anomalies.ts'
import type { Finding } from './anomaly-store.ts'
import { tokenMeters } from './token-meters.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'log'>

/** How far back the ledger checks look: one billing period and a few days. */
const lookback = sql`interval '35 days'`
/** Usage must be sealed within this time. */
const sealDeadline = sql`interval '1 day'`
/** The allowed difference between two synchronized clocks. */
const tolerance = sql`interval '2 seconds'`

/** Checks current usage and runs the `otherChecks` of other features. Fast at any amount of usage. */
export async function checkUsage(deps: Deps, otherChecks: readonly UsageCheck[] = []): Promise<void> {
  const { db, clock } = deps
  const check = (kind: string, query: (now: Date) => RawBuilder<Row>): UsageCheck => ({
    kind,
    find: () => findRows(db, query(clock())),
  })
  await runUsageChecks(deps, [
    check('missing_span', missingSpans),
    check('unclosed_span', unclosedSpans),
    check('unsettled_usage', unsettledUsage),
    check('missing_price', missingPrices),
    ...otherChecks,
  ])
}

/** Checks spans and buckets of 35 days: tens of millions take a minute. A query reads one organization. */
export async function checkLedger(deps: Deps): Promise<void> {
  const { db, clock } = deps
  const now = clock()
  const organizationIds = await listRecentOrganizations(db, now)
  const check = (
    kind: string,
    query: (organizationId: number, now: Date) => RawBuilder<Row>,
  ): UsageCheck => ({
    kind,
    async find() {
      const findings: Finding[] = []
      for (const id of organizationIds) findings.push(...(await findRows(db, query(id, now))))
      return findings
    },
  })
  await runUsageChecks(deps, [
    check('overlapping_spans', overlappingSpans),
    check('impossible_span', impossibleSpans),
    check('provider_disagrees', providerDisagreements),
    check('unbalanced_ledger', imbalances),
  ])
}

interface Row {
  organization_id: number
  deployment_id?: string
  subject: string
  message: string
}

async function findRows(db: Database, query: RawBuilder<Row>): Promise<Finding[]> {
  const { rows } = await query.execute(db)
  return rows.map(({ organization_id: organizationId, deployment_id: deploymentId, ...finding }) => ({
    organizationId,
    deploymentId,
    ...finding,
  }))
}

/** Organizations that may have usage within the lookback. */
async function listRecentOrganizations(db: Database, now: Date): Promise<number[]> {
  const { rows } = await sql<{ organization_id: number }>`
    SELECT organization_id FROM usage_cursors AS cursor
    WHERE sealed_through > ${now}::timestamptz - ${lookback} OR EXISTS (
      SELECT FROM instance_spans AS span WHERE span.organization_id = cursor.organization_id AND ${isRecent('span', now)})
    ORDER BY organization_id`.execute(db)
  return rows.map((row) => row.organization_id)
}

function isRecent(span: string, now: Date): RawBuilder<boolean> {
  const endedAt = sql.ref(`${span}.ended_at`)
  return sql`(${endedAt} IS NULL OR ${endedAt} > ${now}::timestamptz - ${lookback})`
}

/** Instances with hardware but without an open span: their usage is not metered. */
const missingSpans = () => sql<Row>`
  SELECT organization_id, deployment.id AS deployment_id, instance.id::text AS subject,
    format('Deployment %s is %s, but its instance has no open span.', deployment.id, deployment.status) AS message
  FROM instances AS instance JOIN deployments AS deployment ON deployment.id = instance.deployment_id
  WHERE instance.status IN ('deploying', 'running', 'releasing')
    AND instance.started_at IS NOT NULL AND instance.lost_at IS NULL
    AND NOT EXISTS (SELECT FROM instance_spans WHERE engine_id = instance.id AND ended_at IS NULL)`

const unclosedSpans = () => sql<Row>`
  SELECT span.organization_id, span.deployment_id, span.id::text AS subject,
    format('Deployment %s has an open span, but its instance was released.', span.deployment_id) AS message
  FROM instance_spans AS span LEFT JOIN instances AS instance ON instance.id = span.engine_id
  WHERE span.ended_at IS NULL
    AND (instance.id IS NULL OR instance.status = 'released' OR instance.lost_at IS NOT NULL)`

const overlappingSpans = (organizationId: number, now: Date) => sql<Row>`
  SELECT one.organization_id, one.deployment_id, format('%s %s', one.id, other.id) AS subject,
    format('Two spans of an instance of deployment %s overlap, starting at %s.', one.deployment_id,
      greatest(one.started_at, other.started_at)) AS message
  FROM instance_spans AS one JOIN instance_spans AS other ON other.engine_id = one.engine_id AND other.id > one.id
  WHERE one.organization_id = ${organizationId} AND ${isRecent('one', now)}
    AND one.voided_at IS NULL AND other.voided_at IS NULL
    AND one.started_at < coalesce(other.ended_at, 'infinity') AND other.started_at < coalesce(one.ended_at, 'infinity')
    AND coalesce(one.ended_at, other.ended_at, 'infinity') > ${now}::timestamptz - ${lookback}`

/** Spans that a clock step adjusted, and spans in the future or outside their deployment's lifetime. */
const impossibleSpans = (organizationId: number, now: Date) => sql<Row>`
  SELECT span.organization_id, span.deployment_id, span.id::text AS subject,
    format('The span of deployment %s was reported from %s to %s, %s. It is counted from %s to %s.', deployment.id,
      span.reported_start_at, coalesce(span.reported_end_at::text, 'now'),
      CASE
        WHEN span.reported_end_at < span.reported_start_at THEN 'a negative duration'
        WHEN span.reported_end_at < span.ended_at - ${tolerance} THEN 'ending in hours that were already sealed'
        WHEN greatest(span.started_at, span.reported_start_at) > ${now}::timestamptz + ${tolerance}
          THEN 'which is in the future'
        WHEN span.reported_start_at < deployment.created_at - ${tolerance}
          THEN 'starting before the deployment was requested'
        WHEN span.ended_at > deployment.terminated_at + ${tolerance} THEN 'ending after the deployment was terminated'
        ELSE 'which is impossible'
      END,
      span.started_at, coalesce(span.ended_at::text, 'now')) AS message
  FROM instance_spans AS span JOIN deployments AS deployment ON deployment.id = span.deployment_id
  WHERE span.organization_id = ${organizationId} AND ${isRecent('span', now)} AND span.voided_at IS NULL AND (
    abs(extract(epoch FROM span.started_at - span.reported_start_at)) > extract(epoch FROM ${tolerance})
    OR abs(extract(epoch FROM span.ended_at - span.reported_end_at)) > extract(epoch FROM ${tolerance})
    OR span.started_at > ${now}::timestamptz + ${tolerance}
    OR span.started_at < deployment.created_at - ${tolerance}
    OR span.ended_at > deployment.terminated_at + ${tolerance})`

/** Spans whose metered seconds differ from the provider's by more than 1 %. */
const providerDisagreements = (organizationId: number, now: Date) => sql<Row>`
  SELECT organization_id, deployment_id, id::text AS subject,
    format('Deployment %s has %s metered seconds, but %s seconds since the provider''s start.', deployment_id, ours, theirs)
      AS message
  FROM (
    SELECT *, extract(epoch FROM greatest(coalesce(ended_at, ${now}::timestamptz), started_at) - started_at) AS ours,
      extract(epoch FROM greatest(coalesce(reported_end_at, ${now}::timestamptz), reported_start_at) - reported_start_at)
        AS theirs
    FROM instance_spans
    WHERE organization_id = ${organizationId} AND ${isRecent('instance_spans', now)} AND voided_at IS NULL
  ) AS span
  WHERE abs(ours - theirs) > greatest(abs(theirs) / 100, extract(epoch FROM ${tolerance}))`

const unsettledUsage = (now: Date) => sql<Row>`
  SELECT organization_id, organization_id::text AS subject,
    format('Usage since %s is more than a day old and not sealed.', min(hour)) AS message
  FROM usage_buckets WHERE sealed_at IS NULL
  GROUP BY organization_id HAVING min(hour) < ${now}::timestamptz - ${sealDeadline}`

const missingPrices = () => sql<Row>`
  SELECT organization_id, format('%s %s', organization_id, price_key) AS subject,
    format('Usage of %s since %s has no price. Add one to the price file.', price_key, min(hour)) AS message
  FROM usage_buckets WHERE sealed_at IS NULL AND unit_amount IS NULL GROUP BY organization_id, price_key`

/** Sealed buckets that don't add up to the spans and tokens, by meter. */
const imbalances = (organizationId: number, now: Date) => sql<Row>`
  WITH sealed AS (
    SELECT sealed_through, least(sealed_through, date_trunc('hour', ${now}::timestamptz - ${lookback}, 'UTC')) AS since
    FROM usage_cursors WHERE organization_id = ${organizationId}
  ), billed AS (
    SELECT meter, sum(quantity) AS quantity FROM usage_buckets CROSS JOIN sealed
    WHERE organization_id = ${organizationId} AND hour >= since AND hour < sealed_through GROUP BY meter
  ), used AS (
    SELECT 'gpu_instance_seconds' AS meter, sum(extract(epoch FROM
      least(coalesce(ended_at, 'infinity'), sealed_through) - greatest(started_at, since))) AS quantity
    FROM instance_spans CROSS JOIN sealed
    WHERE organization_id = ${organizationId} AND confirmed_at IS NOT NULL
      AND started_at < sealed_through AND (ended_at IS NULL OR ended_at > since)
    HAVING count(*) > 0
    UNION ALL
    SELECT meter, sum(quantity) FROM token_usage CROSS JOIN sealed
      CROSS JOIN LATERAL ${tokenMeters} AS counted (meter, quantity)
    WHERE organization_id = ${organizationId} AND hour >= since AND hour < sealed_through GROUP BY meter
  )
  SELECT ${organizationId}::bigint AS organization_id, format('%s %s', ${organizationId}::bigint, meter) AS subject,
    format('%s: %s units were used, but %s are billed.', meter, coalesce(used.quantity, 0), coalesce(billed.quantity, 0))
      AS message
  FROM used FULL JOIN billed USING (meter)
  WHERE coalesce(used.quantity, 0) <> coalesce(billed.quantity, 0)`
