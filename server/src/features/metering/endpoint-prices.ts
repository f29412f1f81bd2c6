/** What tokens cost at endpoints, in whole hours like all prices. */

import { sql } from 'kysely'
import { Exact } from '../../base/decimal.ts'
import { endpointService } from '../../base/meters.ts'
import type { Price, TokenPrices } from '../../base/price.ts'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { addHours, floorHour } from './hours.ts'
import type { EndpointTariff } from './ledger.ts'

const pricedTokens = 1_000_000

/**
 * Sets what tokens cost at an endpoint from the next hour on; from this hour on if it had no prices.
 * null: from then on the price list applies.
 */
export async function setEndpointPrices(
  transaction: DatabaseTransaction,
  { organizationId, endpointId }: { organizationId: number; endpointId: string },
  { prices, currency }: { prices: TokenPrices | null; currency: string },
  now: Date,
): Promise<void> {
  const hour = floorHour(now)
  const current = await transaction
    .selectFrom('endpoint_prices')
    .select('input')
    .where('endpoint_id', '=', endpointId)
    .where('valid_from', '<=', hour)
    .orderBy('valid_from', 'desc')
    .limit(1)
    .executeTakeFirst()
  const isFirst = current === undefined || current.input === null
  const amounts = { input: prices?.input ?? null, output: prices?.output ?? null, currency }
  await transaction
    .insertInto('endpoint_prices')
    .values({
      organization_id: organizationId,
      endpoint_id: endpointId,
      valid_from: isFirst ? hour : addHours(hour, 1),
      ...amounts,
    })
    .onConflict((conflict) => conflict.columns(['endpoint_id', 'valid_from']).doUpdateSet(amounts))
    .execute()
}

interface Row {
  deploymentId: string
  endpointId: string
  currency: string
  from: Date
  until: Date | null
  input: string | null
  output: string | null
}

/** What the tokens of deployments on endpoints cost, by deployment. */
export async function listTariffs(
  db: Database,
  of: { organizationIds: readonly number[] } | { deploymentIds: readonly string[] },
): Promise<Map<string, EndpointTariff>> {
  const isWanted =
    'organizationIds' in of
      ? sql`price.organization_id = ANY(${of.organizationIds}::bigint[])`
      : sql`deployments.id = ANY(${of.deploymentIds}::uuid[])`
  const { rows } = await sql<Row>`
    SELECT deployments.id AS "deploymentId", price.endpoint_id AS "endpointId", price.valid_from AS "from",
      price.input, price.output, price.currency,
      lead(price.valid_from) OVER (PARTITION BY deployments.id ORDER BY price.valid_from) AS "until"
    FROM endpoint_prices AS price JOIN deployments ON deployments.organization_id = price.organization_id
      AND deployments.variant #>> '{weights,endpoint}' = price.endpoint_id::text
    WHERE ${isWanted}
    ORDER BY deployments.id, price.valid_from`.execute(db)
  const tariffs = new Map<string, { endpointId: string; prices: Price[] }>()
  for (const row of rows) {
    const tariff = tariffs.get(row.deploymentId) ?? { endpointId: row.endpointId, prices: [] }
    tariffs.set(row.deploymentId, tariff)
    tariff.prices.push(...toPrices(row))
  }
  return tariffs
}

function toPrices({ endpointId, from, until, input, output, currency }: Row): Price[] {
  if (input === null || output === null) return []
  const same = {
    dimensions: { endpoint: endpointId },
    serviceKey: endpointService,
    currency,
    validFrom: from,
    validUntil: until,
  }
  const perToken = (amount: string) => new Exact(amount).dividedBy(pricedTokens).toFixed()
  return [
    {
      ...same,
      meter: 'inference_input_tokens',
      displayName: 'Input tokens of {model_name}',
      unitAmount: perToken(input),
    },
    {
      ...same,
      meter: 'inference_output_tokens',
      displayName: 'Output tokens of {model_name}',
      unitAmount: perToken(output),
    },
  ]
}
