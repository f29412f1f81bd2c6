import { sql } from 'kysely'
import type { Stripe } from 'stripe'
import type { Database } from '../../../database/tables.ts'
import { recordEvent } from './events.ts'
import { invalid } from './errors.ts'
import { findObject, insertObject, listObjects, newId } from './store.ts'
import type { Step } from './store.ts'

export async function createMeter(
  step: Step,
  input: { display_name: string; event_name: string },
): Promise<Stripe.Billing.Meter> {
  const existing = await listObjects(step.db, 'billing.meter', { contains: { event_name: input.event_name } })
  if (existing.length > 0) {
    throw invalid(`An active meter already has the event name ${input.event_name}.`, 'event_name')
  }
  const meter = await insertObject(step, {
    id: newId('mtr'),
    object: 'billing.meter',
    created: step.second,
    customer_mapping: { event_payload_key: 'stripe_customer_id', type: 'by_id' },
    default_aggregation: { formula: 'sum' },
    display_name: input.display_name,
    event_name: input.event_name,
    event_time_window: null,
    livemode: false,
    status: 'active',
    status_transitions: { deactivated_at: null },
    updated: step.second,
    value_settings: { event_payload_key: 'value' },
  } satisfies Stripe.Billing.Meter)
  await recordEvent(step, 'billing.meter.created', meter)
  return meter
}

const day = 86_400

/** Takes usage once: an identifier that was seen before is refused, in Stripe's words. */
export async function createMeterEvent(
  step: Step,
  input: {
    event_name: string
    identifier: string
    timestamp: number
    payload: { stripe_customer_id: string; value: string }
  },
): Promise<Stripe.Billing.MeterEvent> {
  const { event_name: name, identifier, timestamp, payload } = input
  const [meter] = await listObjects(step.db, 'billing.meter', { contains: { event_name: name } })
  if (meter === undefined) throw invalid(`No active meter found for event name: ${name}`, 'event_name')
  if ((await findObject(step.db, 'customer', payload.stripe_customer_id)) === null) {
    throw invalid(`No such customer: '${payload.stripe_customer_id}'`, 'payload[stripe_customer_id]')
  }
  if (timestamp < step.second - 35 * day || timestamp > step.second + 300) {
    throw invalid(
      'The timestamp must be within the past 35 calendar days or up to 5 minutes in the future.',
      'timestamp',
    )
  }
  const taken = await step.db
    .insertInto('sandbox_meter_events')
    .values({
      identifier,
      event_name: name,
      customer_id: payload.stripe_customer_id,
      at: new Date(timestamp * 1000),
      value: payload.value,
      created_at: step.now,
    })
    .onConflict((conflict) => conflict.column('identifier').doNothing())
    .executeTakeFirst()
  if (taken.numInsertedOrUpdatedRows === 0n) {
    throw invalid(`An event already exists with identifier ${identifier}.`, 'identifier')
  }
  return {
    object: 'billing.meter_event',
    created: step.second,
    event_name: name,
    identifier,
    livemode: false,
    payload: { ...payload },
    timestamp,
  } satisfies Stripe.Billing.MeterEvent
}

/** Units that a customer used in [from, to), as a decimal string. */
export async function sumUsage(
  db: Database,
  eventName: string,
  customerId: string,
  from: number,
  to: number,
): Promise<string> {
  const { sum } = await db
    .selectFrom('sandbox_meter_events')
    .select(sql<string>`coalesce(sum(value), 0)::text`.as('sum'))
    .where('event_name', '=', eventName)
    .where('customer_id', '=', customerId)
    .where('at', '>=', new Date(from * 1000))
    .where('at', '<', new Date(to * 1000))
    .executeTakeFirstOrThrow()
  return sum
}

/** One summary for each hour or day with usage, or one for the whole time. Newest first, as Stripe has it. */
export async function summarizeUsage(
  db: Database,
  meter: Stripe.Billing.Meter,
  input: {
    customer: string
    start_time: number
    end_time: number
    value_grouping_window?: 'hour' | 'day' | undefined
  },
): Promise<Stripe.Billing.MeterEventSummary[]> {
  const { start_time: from, end_time: to } = input
  const width =
    input.value_grouping_window === 'hour' ? 3600 : input.value_grouping_window === 'day' ? day : to - from
  const unit = input.value_grouping_window === undefined ? 60 : width
  if (from % unit !== 0 || to % unit !== 0 || to <= from) {
    throw invalid(
      'start_time and end_time must be in order and lie on the boundaries of the window.',
      'start_time',
    )
  }
  const slot = sql<string>`floor((extract(epoch from at) - ${from}::bigint) / ${width}::bigint)`
  const rows = await db
    .selectFrom('sandbox_meter_events')
    .select([slot.as('slot'), sql<string>`sum(value)::text`.as('sum')])
    .where('event_name', '=', meter.event_name)
    .where('customer_id', '=', input.customer)
    .where('at', '>=', new Date(from * 1000))
    .where('at', '<', new Date(to * 1000))
    .groupBy(sql`1`)
    .orderBy(sql`1 desc`)
    .execute()
  return rows.map((row) => {
    const start = from + Number(row.slot) * width
    return {
      id: `mtrusg_${meter.id.slice(4)}_${start}`,
      object: 'billing.meter_event_summary',
      aggregated_value: Number(row.sum),
      end_time: start + width,
      livemode: false,
      meter: meter.id,
      start_time: start,
    } satisfies Stripe.Billing.MeterEventSummary
  })
}
