/** The arithmetic of the ledger, without a database: what a span becomes, what an hour holds, when it is sealed. */

import { addHours, earliest, floorHour, latest } from './hours.ts'
import type { Dimensions, MeterName } from './meters.ts'

/** An hour is sealed this long after its end: what an invoice is to hold must reach the processor within an hour of the period. */
const graceHours = 0.25

/** A deployment's time with an instance; `endedAt` null: it has it still. */
export interface InstanceSpan {
  deploymentId: string
  instanceType: string
  region: string
  startedAt: Date
  endedAt: Date | null
}

export interface TokenHour {
  deploymentId: string
  modelName: string
  hour: Date
  inputTokens: number
  outputTokens: number
}

/** What is known of an organization's usage that is not sealed yet. */
export interface OpenLedger {
  /** Usage of the hours before it never changes */
  sealedThrough: Date
  /** Those that are billed and reach beyond `sealedThrough` */
  spans: readonly InstanceSpan[]
  /** From `sealedThrough` on */
  tokens: readonly TokenHour[]
  /** From when on more usage may come to light, however late: what may yet turn out to be billed began then; null: nothing may */
  undecidedSince: Date | null
}

export interface BucketPrice {
  priceKey: string
  serviceKey: string
  displayName: string
  /** Null where no price is known */
  unit: { amount: string; currency: string } | null
}

/** What a deployment used in one hour of one meter in one combination of its dimensions. */
export interface UsageBucket {
  deploymentId: string
  meter: MeterName
  hour: Date
  dimensions: Dimensions
  /** Seconds or tokens in thousandths: whole, at most 2^53 */
  thousandths: number
  price: BucketPrice
}

export type PriceFinder = (meter: MeterName, dimensions: Dimensions, hour: Date) => BucketPrice

/**
 * When a span that the provider says to have begun at `reported` began: no later than `now`, when it is heard of, no earlier than
 * the deployment was asked for, and never in a sealed hour.
 */
export function toSpanStart(
  reported: Date,
  { requestedAt, now, sealedThrough }: { requestedAt: Date; now: Date; sealedThrough: Date },
): Date {
  return latest(sealedThrough, earliest(now, latest(reported, requestedAt)))
}

/** When a span that began at `startedAt` ended by a clock that says `now`: not before its start, and never in a sealed hour. */
export function toSpanEnd(now: Date, startedAt: Date, sealedThrough: Date): Date {
  return latest(startedAt, now, sealedThrough)
}

/** Cuts what is not sealed into hours, spans that go on up to `now`, and says up to which hour it may be sealed. */
export function planSettlement(
  { sealedThrough, spans, tokens, undecidedSince }: OpenLedger,
  now: Date,
  findPrice: PriceFinder,
): { buckets: UsageBucket[]; sealedThrough: Date } {
  const buckets = new Map<string, UsageBucket>()

  function count(
    meter: MeterName,
    deploymentId: string,
    dimensions: Dimensions,
    hour: Date,
    thousandths: number,
  ): void {
    if (thousandths === 0) return
    const key = JSON.stringify([deploymentId, meter, hour.getTime(), dimensions])
    const bucket = buckets.get(key)
    if (bucket !== undefined) bucket.thousandths += thousandths
    else {
      const price = findPrice(meter, dimensions, hour)
      buckets.set(key, { deploymentId, meter, hour, dimensions, thousandths, price })
    }
  }

  for (const { deploymentId, instanceType, region, startedAt, endedAt } of spans) {
    const dimensions = { instance_type: instanceType, region }
    for (const { hour, milliseconds } of cutIntoHours(latest(startedAt, sealedThrough), endedAt ?? now)) {
      count('gpu_instance_seconds', deploymentId, dimensions, hour, milliseconds)
    }
  }
  for (const { deploymentId, modelName, hour, inputTokens, outputTokens } of tokens) {
    const dimensions = { model_name: modelName }
    count('inference_input_tokens', deploymentId, dimensions, hour, inputTokens * 1000)
    count('inference_output_tokens', deploymentId, dimensions, hour, outputTokens * 1000)
  }

  const unpriced = [...buckets.values()].flatMap(({ price, hour }) => (price.unit === null ? [hour] : []))
  const sealable = floorHour(earliest(addHours(now, -graceHours), undecidedSince, ...unpriced))
  return { buckets: [...buckets.values()], sealedThrough: latest(sealedThrough, sealable) }
}

/** The parts of [from, to) in each hour that it touches, in order; none when it is empty or negative. */
export function* cutIntoHours(from: Date, to: Date): Generator<{ hour: Date; milliseconds: number }> {
  for (let at = from; at < to;) {
    const hour = floorHour(at)
    const end = earliest(addHours(hour, 1), to)
    yield { hour, milliseconds: end.getTime() - at.getTime() }
    at = end
  }
}

/** Sealed usage of one price in one hour, in whole units: what a payment processor is told, once. */
export interface UsageEventPlan {
  priceKey: string
  hour: Date
  quantity: number
}

/**
 * Whole units for each hour of one price, so that nothing is lost: an hour's are those that its end has completed of all since
 * the first hour, floor(through the hour) - floor(before it). Hours without a whole unit have no event. `remainder`: thousandths
 * that hours before these left over, and these do.
 */
export function planUsageEvents(
  priceKey: string,
  hours: readonly { hour: Date; thousandths: number }[],
  remainder = 0,
): { events: UsageEventPlan[]; remainder: number } {
  let before = remainder
  const events = hours.flatMap(({ hour, thousandths }) => {
    const through = before + thousandths
    const quantity = Math.floor(through / 1000) - Math.floor(before / 1000)
    before = through
    return quantity === 0 ? [] : [{ priceKey, hour, quantity }]
  })
  return { events, remainder: before % 1000 }
}
