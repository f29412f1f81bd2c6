import type { Database } from '../../src/database/tables.ts'
import { readUsageEvents } from '../../src/features/metering/usage-events.ts'

/** The price key of the local CPU */
export const localPriceKey = 'gpu_instance_seconds.local-cpu.local.0.00001-usd'

/** Inserts a sealed bucket of instance seconds. */
export async function writeSealedSeconds(
  db: Database,
  usage: {
    organizationId: number
    deploymentId: string
    hour: Date
    quantity: string
    sealedAt: Date
    priceKey?: string | undefined
  },
): Promise<void> {
  await db
    .insertInto('usage_buckets')
    .values({
      organization_id: usage.organizationId,
      deployment_id: usage.deploymentId,
      meter: 'gpu_instance_seconds',
      hour: usage.hour,
      dimensions: JSON.stringify({ instance_type: 'local-cpu', region: 'local' }),
      quantity: usage.quantity,
      price_key: usage.priceKey ?? localPriceKey,
      service_key: 'compute',
      display_name: 'CPU',
      unit_amount: '0.00001',
      currency: 'usd',
      sealed_at: usage.sealedAt,
    })
    .execute()
}

/** All meter events of an organization's usage since `from`, sorted by price and hour. */
export async function listAllUsageEvents(db: Database, organizationId: number, from: Date) {
  const read = await Array.fromAsync(readUsageEvents({ db }, organizationId, { from, remainders: {} }))
  return read
    .flatMap(({ events }) => events)
    .toSorted(
      (one, other) =>
        Number(one.priceKey > other.priceKey) - Number(one.priceKey < other.priceKey) ||
        one.hour.getTime() - other.hour.getTime(),
    )
}
