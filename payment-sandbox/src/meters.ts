import { sql } from 'kysely'
import type { Stripe } from 'stripe'
import type { SandboxDatabase } from './database.ts'
import { invalid } from './errors.ts'
import type { Meter, Wire } from './object-types.ts'
import { findObject, insertObject, listObjects, newId } from './objects.ts'
import type { Change } from './store.ts'

const day = 86_400

export async function createMeter(
  change: Change,
  input: { display_name: string; event_name: string },
): Promise<Meter> {
  if ((await findMeter(change.db, input.event_name)) !== undefined) {
    throw invalid(`An active meter already has the event name ${input.event_name}.`, 'event_name')
  }
  return insertObject<Meter>(change, {
    id: newId('mtr'),
    object: 'billing.meter',
    display_name: input.display_name,
    event_name: input.event_name,
    status: 'active',
  } satisfies Wire<Stripe.Billing.Meter>)
}

async function findMeter(db: SandboxDatabase, eventName: string): Promise<Meter | undefined> {
  const [meter] = await listObjects(db, 'billing.meter', { contains: { event_name: eventName } })
  return meter
}

/** Counts usage once per identifier; a repeated identifier is an error with Stripe's message. */
export async function createMeterEvent(
  { db, second }: Change,
  input: {
    event_name: string
    identifier: string
    timestamp: number
    payload: { stripe_customer_id: string; value: string }
  },
) {
  const { event_name: name, identifier, timestamp, payload } = input
  if ((await findMeter(db, name)) === undefined) {
    throw invalid(`No active meter found for event name: ${name}`, 'event_name')
  }
  if ((await findObject(db, 'customer', payload.stripe_customer_id)) === null) {
    throw invalid(`No such customer: '${payload.stripe_customer_id}'`, 'payload[stripe_customer_id]')
  }
  if (timestamp < second - 35 * day || timestamp > second + 300) {
    throw invalid(
      'The timestamp must be within the past 35 calendar days or up to 5 minutes in the future.',
      'timestamp',
    )
  }
  const { numInsertedOrUpdatedRows: inserted } = await db
    .insertInto('meter_events')
    .values({
      identifier,
      event_name: name,
      customer_id: payload.stripe_customer_id,
      at: new Date(timestamp * 1000),
      value: payload.value,
    })
    .onConflict((conflict) => conflict.column('identifier').doNothing())
    .executeTakeFirst()
  if (inserted === 0n) {
    throw invalid(`An event already exists with identifier ${identifier}.`, 'identifier')
  }
  return {
    object: 'billing.meter_event',
    event_name: name,
    identifier,
    payload: { ...payload },
    timestamp,
  } satisfies Wire<Stripe.Billing.MeterEvent>
}

/** Units that a customer used in [from, to), in seconds since 1970; a decimal string. */
export async function sumUsage(
  db: SandboxDatabase,
  eventName: string,
  customerId: string,
  { start, end }: { start: number; end: number },
): Promise<string> {
  const { sum } = await db
    .selectFrom('meter_events')
    .select(sql<string>`coalesce(sum(value), 0)::text`.as('sum'))
    .where('event_name', '=', eventName)
    .where('customer_id', '=', customerId)
    .where('at', '>=', new Date(start * 1000))
    .where('at', '<', new Date(end * 1000))
    .executeTakeFirstOrThrow()
  return sum
}

/** One summary of the whole time. Stripe can also return one for each hour; the sum is the same. */
export async function summarizeUsage(
  db: SandboxDatabase,
  meter: Meter,
  input: {
    customer: string
    start_time: number
    end_time: number
    value_grouping_window?: 'hour' | undefined
  },
) {
  const { customer, start_time: start, end_time: end, value_grouping_window: window } = input
  const unit = window === 'hour' ? 3600 : 60
  if (start % unit !== 0 || end % unit !== 0 || end <= start) {
    throw invalid('start_time and end_time must be in order and aligned to the window.', 'start_time')
  }
  return {
    id: `mtrusg_${meter.id.slice(4)}_${start}`,
    object: 'billing.meter_event_summary',
    aggregated_value: Number(await sumUsage(db, meter.event_name, customer, { start, end })),
    end_time: end,
    meter: meter.id,
    start_time: start,
  } satisfies Wire<Stripe.Billing.MeterEventSummary>
}
