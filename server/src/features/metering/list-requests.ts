import { sql } from 'kysely'
import { add, multiply } from '../../base/decimal.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import type { Services } from '../../services.ts'
import { listTariffs } from './endpoint-prices.ts'
import { floorHour } from './hours.ts'
import type { BucketPrice } from './ledger.ts'
import { createPriceFinder } from './settle.ts'

/** A row of the request log, with what its tokens cost. */
export interface RequestRow {
  id: string
  at: Date
  userId: number
  userEmail: string
  userName: string
  /** null if the request reached none */
  deploymentId: string | null
  /** Its alias, or its model */
  deploymentName: string | null
  model: string
  route: string
  status: number
  inputTokens: number | null
  cachedTokens: number | null
  outputTokens: number | null
  firstTokenMilliseconds: number | null
  durationMilliseconds: number
  client: string | null
  retry: number
  callerLeft: boolean
  /** A decimal string in the currency's main unit, not rounded; null if no tokens were counted */
  cost: string | null
}

/** The place of a row in a list, newest first. */
export interface RequestPlace {
  at: Date
  id: string
}

export interface RequestFilter {
  /** A person's in an organization, or those of a deployment */
  of: { userId: number; organizationId: number } | { deploymentId: string }
  model: string | undefined
  /** Ranges of statuses, both ends included; none for all */
  statuses: readonly (readonly [from: number, to: number])[]
  from: Date | undefined
  to: Date | undefined
  /** Only those after this row */
  after: RequestPlace | null
}

/** Lists logged requests, newest first, and says whether there are more. */
export async function listRequests(
  { db, prices }: Pick<Services, 'db' | 'prices'>,
  { of, model, statuses, from, to, after }: RequestFilter,
  limit: number,
): Promise<{ items: RequestRow[]; hasMore: boolean }> {
  const conditions = [
    'userId' in of
      ? sql`log.user_id = ${of.userId} AND log.organization_id = ${of.organizationId}`
      : sql`log.deployment_id = ${of.deploymentId}`,
    ...(model === undefined ? [] : [sql`log.model = ${model}`]),
    ...(statuses.length === 0
      ? []
      : [
          sql`(${sql.join(
            statuses.map(([least, most]) => sql`log.status BETWEEN ${least} AND ${most}`),
            sql` OR `,
          )})`,
        ]),
    ...(from === undefined ? [] : [sql`log.at >= ${from}`]),
    ...(to === undefined ? [] : [sql`log.at < ${to}`]),
    ...(after === null ? [] : [sql`(log.at, log.id) < (${after.at}, ${after.id}::uuid)`]),
  ]
  const { rows } = await sql<Omit<RequestRow, 'cost'>>`
    SELECT log.id, log.at, log.user_id AS "userId", users.email AS "userEmail", users.name AS "userName",
      log.deployment_id AS "deploymentId", coalesce(deployments.alias, deployments.model_name) AS "deploymentName", log.model,
      log.route, log.status, log.input_tokens AS "inputTokens", log.cached_tokens AS "cachedTokens",
      log.output_tokens AS "outputTokens", log.first_token_ms AS "firstTokenMilliseconds",
      log.duration_ms AS "durationMilliseconds", log.client, log.retry, log.caller_left AS "callerLeft"
    FROM request_log AS log JOIN users ON users.id = log.user_id LEFT JOIN deployments ON deployments.id = log.deployment_id
    WHERE ${sql.join(conditions, sql` AND `)}
    ORDER BY log.at DESC, log.id DESC
    LIMIT ${limit + 1}`.execute(db)
  const deploymentIds = new Set(rows.flatMap(({ deploymentId }) => deploymentId ?? []))
  const tariffs = await listTariffs(db, { deploymentIds: [...deploymentIds] })
  const findPrice = createPriceFinder(prices)
  const items = rows.slice(0, limit).map((row) => {
    const own = tariffs.get(row.deploymentId ?? '')?.prices
    return { ...row, cost: sumCost((...usage) => findPrice(...usage, own), row) }
  })
  return { items, hasMore: rows.length > limit }
}

/** The cost of a request's tokens at the prices of its hour. The time of instances is not in it. */
function sumCost(
  findPrice: (meter: MeterName, dimensions: Dimensions, hour: Date) => BucketPrice,
  row: Omit<RequestRow, 'cost'>,
): string | null {
  const { inputTokens, outputTokens, model, at } = row
  if (inputTokens === null || outputTokens === null) return null
  const cached = row.cachedTokens ?? 0
  const priceOf = (meter: MeterName) =>
    findPrice(meter, { model_name: model }, floorHour(at)).unit?.amount ?? '0'
  return [
    multiply(String(inputTokens - cached), priceOf('inference_input_tokens')),
    multiply(String(cached), priceOf('inference_cached_tokens')),
    multiply(String(outputTokens), priceOf('inference_output_tokens')),
  ].reduce(add)
}
