import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { listOrphans } from '../deployments/sweep-orphans.ts'
import { runUsageChecks } from './anomalies.ts'
import type { UsageCheck } from './anomalies.ts'
import type { Finding } from './anomaly-store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'log' | 'runtime'>

/** How long something that is over can still be found: a billing period and some days. */
const lookBack = sql`interval '35 days'`
/** How long what is under way may take before it is told of. */
const patience = sql`interval '1 day'`
/** How far clocks that are set right may be apart. */
const tolerance = sql`interval '2 seconds'`

/** Looks for what is wrong with usage at this moment, and for what `others` look for; quick at any size. */
export async function checkUsage(world: Deps, others: readonly UsageCheck[] = []): Promise<void> {
  const { db, clock } = world
  const check = (kind: string, query: (now: Date) => RawBuilder<Row>): UsageCheck => ({
    kind,
    find: () => findRows(db, query(clock())),
  })
  await runUsageChecks(world, [
    { kind: 'instance_without_deployment', find: () => findOrphans(world) },
    check('missing_span', missingSpans),
    check('unclosed_span', unclosedSpans),
    check('unsettled_usage', unsettledUsage),
    check('missing_price', missingPrices),
    ...others,
  ])
}

/**
 * Looks through all spans and hours of the last 35 days for what should not be. They may be tens of millions, so it takes a
 * minute's work at times, and each query reads one organization's alone.
 */
export async function checkLedger(world: Deps): Promise<void> {
  const { db, clock } = world
  const now = clock()
  const organizationIds = await listRecentlyUsing(db, now)
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
  await runUsageChecks(world, [
    check('overlapping_spans', overlappingSpans),
    check('impossible_span', impossibleSpans),
    check('provider_disagrees', disagreements),
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

/** Organizations that may have had usage in the time that is looked back on. */
async function listRecentlyUsing(db: Database, now: Date): Promise<number[]> {
  const { rows } = await sql<{ organization_id: number }>`
    SELECT organization_id FROM usage_cursors AS cursor
    WHERE sealed_through > ${now}::timestamptz - ${lookBack} OR EXISTS (
      SELECT FROM instance_spans AS span WHERE span.organization_id = cursor.organization_id AND ${isRecent('span', now)})
    ORDER BY organization_id`.execute(db)
  return rows.map((row) => row.organization_id)
}

function isRecent(span: string, now: Date): RawBuilder<boolean> {
  const endedAt = sql.ref(`${span}.ended_at`)
  return sql`(${endedAt} IS NULL OR ${endedAt} > ${now}::timestamptz - ${lookBack})`
}

async function findOrphans({ db, runtime }: Deps): Promise<Finding[]> {
  const orphans = await listOrphans({ db, runtime })
  if (orphans.length === 0) return []
  const known = await db
    .selectFrom('deployments')
    .select(['id', 'organization_id'])
    .where(sql<boolean>`id::text = ANY (${orphans})`)
    .execute()
  return orphans.map((subject) => {
    const deployment = known.find(({ id }) => id === subject)
    return {
      organizationId: deployment?.organization_id ?? null,
      deploymentId: deployment?.id,
      subject,
      message: `The runtime holds an instance for ${subject}, which no deployment owns.`,
    }
  })
}

/** Gaps: a deployment has an instance, and no clock runs. */
const missingSpans = () => sql<Row>`
  SELECT organization_id, id AS deployment_id, id::text AS subject, format('Deployment %s is %s, and no span of its instance is open.', id, status)
    AS message
  FROM deployments AS deployment
  WHERE status IN ('deploying', 'running', 'failed', 'terminating')
    AND instance_started_at IS NOT NULL AND instance_released_at IS NULL
    AND NOT EXISTS (SELECT FROM instance_spans WHERE deployment_id = deployment.id AND ended_at IS NULL)`

const unclosedSpans = () => sql<Row>`
  SELECT span.organization_id, span.deployment_id, span.id::text AS subject,
    format('The span of deployment %s is open, and its instance was given back.', deployment.id) AS message
  FROM instance_spans AS span JOIN deployments AS deployment ON deployment.id = span.deployment_id
  WHERE span.ended_at IS NULL AND (deployment.status = 'terminated' OR deployment.instance_released_at IS NOT NULL)`

const overlappingSpans = (organizationId: number, now: Date) => sql<Row>`
  SELECT one.organization_id, one.deployment_id, format('%s %s', one.id, other.id) AS subject,
    format('Two spans of deployment %s overlap from %s on.', one.deployment_id,
      greatest(one.started_at, other.started_at)) AS message
  FROM instance_spans AS one JOIN instance_spans AS other ON other.deployment_id = one.deployment_id AND other.id > one.id
  WHERE one.organization_id = ${organizationId} AND ${isRecent('one', now)}
    AND one.voided_at IS NULL AND other.voided_at IS NULL
    AND one.started_at < coalesce(other.ended_at, 'infinity') AND other.started_at < coalesce(one.ended_at, 'infinity')
    AND coalesce(one.ended_at, other.ended_at, 'infinity') > ${now}::timestamptz - ${lookBack}`

/** Spans that were cut because clocks had stepped, those that lie in the future or outside of their deployment's life. */
const impossibleSpans = (organizationId: number, now: Date) => sql<Row>`
  SELECT span.organization_id, span.deployment_id, span.id::text AS subject,
    format('The span of deployment %s is said to go from %s to %s, %s; it is counted from %s to %s.', deployment.id,
      span.reported_start_at, coalesce(span.reported_end_at::text, 'now'),
      CASE
        WHEN span.reported_end_at < span.reported_start_at THEN 'which is negative'
        WHEN span.reported_end_at < span.ended_at - ${tolerance} THEN 'which ends in hours that were sealed before'
        WHEN greatest(span.started_at, span.reported_start_at) > ${now}::timestamptz + ${tolerance}
          THEN 'which is in the future'
        WHEN span.reported_start_at < deployment.created_at - ${tolerance} THEN 'which is before it was asked for'
        WHEN span.ended_at > deployment.terminated_at + ${tolerance} THEN 'which is after it was terminated'
        ELSE 'which cannot be'
      END,
      span.started_at, coalesce(span.ended_at::text, 'now')) AS message
  FROM instance_spans AS span JOIN deployments AS deployment ON deployment.id = span.deployment_id
  WHERE span.organization_id = ${organizationId} AND ${isRecent('span', now)} AND span.voided_at IS NULL AND (
    abs(extract(epoch FROM span.started_at - span.reported_start_at)) > extract(epoch FROM ${tolerance})
    OR abs(extract(epoch FROM span.ended_at - span.reported_end_at)) > extract(epoch FROM ${tolerance})
    OR span.started_at > ${now}::timestamptz + ${tolerance}
    OR span.started_at < deployment.created_at - ${tolerance}
    OR span.ended_at > deployment.terminated_at + ${tolerance})`

/** Our seconds and those from the provider's start to the release are apart by more than 1 %. */
const disagreements = (organizationId: number, now: Date) => sql<Row>`
  SELECT organization_id, deployment_id, id::text AS subject,
    format('Deployment %s: we count %s seconds, by the provider''s start it is %s.', deployment_id, ours, theirs) AS message
  FROM (
    SELECT *, extract(epoch FROM coalesce(ended_at, ${now}::timestamptz) - started_at) AS ours,
      extract(epoch FROM coalesce(reported_end_at, ${now}::timestamptz) - reported_start_at) AS theirs
    FROM instance_spans
    WHERE organization_id = ${organizationId} AND ${isRecent('instance_spans', now)} AND voided_at IS NULL
  ) AS span
  WHERE abs(ours - theirs) > greatest(abs(theirs) / 100, extract(epoch FROM ${tolerance}))`

const unsettledUsage = (now: Date) => sql<Row>`
  SELECT organization_id, organization_id::text AS subject,
    format('Usage since %s is not sealed yet.', min(hour)) AS message
  FROM usage_buckets WHERE sealed_at IS NULL
  GROUP BY organization_id HAVING min(hour) < ${now}::timestamptz - ${patience}`

const missingPrices = () => sql<Row>`
  SELECT organization_id, format('%s %s', organization_id, price_key) AS subject,
    format('Usage of %s since %s has no price.', price_key, min(hour)) AS message
  FROM usage_buckets WHERE sealed_at IS NULL AND unit_amount IS NULL GROUP BY organization_id, price_key`

/** What was sealed must be what spans and tokens say, for each meter. */
const imbalances = (organizationId: number, now: Date) => sql<Row>`
  WITH sealed AS (
    SELECT sealed_through, least(sealed_through, date_trunc('hour', ${now}::timestamptz - ${lookBack}, 'UTC')) AS since
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
      CROSS JOIN LATERAL (VALUES ('inference_input_tokens', input_tokens), ('inference_output_tokens', output_tokens))
        AS counted (meter, quantity)
    WHERE organization_id = ${organizationId} AND hour >= since AND hour < sealed_through GROUP BY meter
  )
  SELECT ${organizationId}::bigint AS organization_id, format('%s %s', ${organizationId}::bigint, meter) AS subject,
    format('Of %s %s were used and %s are billed.', meter, coalesce(used.quantity, 0), coalesce(billed.quantity, 0)) AS message
  FROM used FULL JOIN billed USING (meter)
  WHERE coalesce(used.quantity, 0) <> coalesce(billed.quantity, 0)`
