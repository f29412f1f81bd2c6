/** The pure arithmetic of the ledger: cutting spans into hourly buckets, and deciding which hours to seal. */

import { addHours, earliest, floorHour, latest } from './hours.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import type { Price } from '../../base/price.ts'

/** Hours are sealed after 15 minutes: usage must reach the processor within an hour after the period. */
const graceHours = 0.25

/** The time that a deployment had an instance; `endedAt` is null while the span is open. */
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
  /** In the hour in which charging began, the part before */
  beforeCharging: boolean
  /** The hour of the requests, if it was sealed before they were recorded; else null */
  lateFor: Date | null
  /** Cached tokens included */
  inputTokens: number
  outputTokens: number
  /** The part of the input that is billed as cached; absent for none */
  cachedTokens?: number | undefined
}

/** What the tokens of an endpoint cost over time. */
export interface EndpointTariff {
  endpointId: string
  /** None for the hours in which the price file applies */
  prices: readonly Price[]
}

/** The unsealed usage of an organization. */
export interface OpenLedger {
  /** The watermark: usage before it never changes */
  sealedThrough: Date
  /** From when on usage is charged; null during the trial */
  chargedSince: Date | null
  /** Billable spans that reach beyond `sealedThrough` */
  spans: readonly InstanceSpan[]
  /** From `sealedThrough` on */
  tokens: readonly TokenHour[]
  /** By deployment, for those on endpoints that have prices; absent for none */
  tariffs?: ReadonlyMap<string, EndpointTariff>
  /** Start of the earliest span that may become billable, or null. Hours from here on stay open. */
  undecidedSince: Date | null
}

export interface BucketPrice {
  priceKey: string
  serviceKey: string
  displayName: string
  /** null when no price is valid */
  unit: { amount: string; currency: string } | null
  /** The first hour and the hour after the last of the price; null without one */
  validFrom: Date | null
  validUntil: Date | null
}

/** A deployment's usage in an hour or a part of it, for one meter and one combination of its dimensions. */
export interface UsageBucket {
  deploymentId: string
  meter: MeterName
  hour: Date
  /** In the hour in which charging began, the part before */
  beforeCharging: boolean
  /** The hour of late usage, whose price it has; else null */
  lateFor: Date | null
  dimensions: Dimensions
  /** Thousandths of a second or token: a whole number, at most 2^53 */
  thousandths: number
  price: BucketPrice
}

/** `own` prices of tokens, if any are valid in the hour, take the place of the price list. */
export type PriceFinder = (
  meter: MeterName,
  dimensions: Dimensions,
  hour: Date,
  own?: readonly Price[],
) => BucketPrice

/** A span's start: `reported`, but from the deployment's request to `now`, and never in a sealed hour. */
export function toSpanStart(
  reported: Date,
  { requestedAt, now, sealedThrough }: { requestedAt: Date; now: Date; sealedThrough: Date },
): Date {
  return latest(sealedThrough, earliest(now, latest(reported, requestedAt)))
}

/** The end of a span that closes at `now`: never before its start, and never in a sealed hour. */
export function toSpanEnd(now: Date, startedAt: Date, sealedThrough: Date): Date {
  return latest(startedAt, now, sealedThrough)
}

/**
 * Cuts unsealed usage into hourly buckets, open spans up to `now`, and returns the new watermark. Hours
 * without a price, with undecided usage and from `sealLimit` on stay open.
 */
export function planSettlement(
  { sealedThrough, chargedSince, spans, tokens, tariffs, undecidedSince }: OpenLedger,
  now: Date,
  findPrice: PriceFinder,
  sealLimit: Date | null = null,
): { buckets: UsageBucket[]; sealedThrough: Date } {
  const buckets = new Map<string, UsageBucket>()

  function count(
    meter: MeterName,
    deploymentId: string,
    dimensions: Dimensions,
    { hour, beforeCharging, lateFor }: Pick<UsageBucket, 'hour' | 'beforeCharging' | 'lateFor'>,
    thousandths: number,
    own?: readonly Price[],
  ): void {
    if (thousandths === 0) return
    const key = JSON.stringify([deploymentId, meter, hour.getTime(), beforeCharging, lateFor, dimensions])
    const bucket = buckets.get(key)
    if (bucket !== undefined) bucket.thousandths += thousandths
    else {
      const price = findPrice(meter, dimensions, lateFor ?? hour, own)
      buckets.set(key, { deploymentId, meter, hour, beforeCharging, lateFor, dimensions, thousandths, price })
    }
  }

  for (const { deploymentId, instanceType, region, startedAt, endedAt } of spans) {
    const dimensions = { instance_type: instanceType, region }
    for (const part of cutIntoHours(latest(startedAt, sealedThrough), endedAt ?? now, chargedSince)) {
      count('gpu_instance_seconds', deploymentId, dimensions, { ...part, lateFor: null }, part.milliseconds)
    }
  }
  for (const { deploymentId, modelName, inputTokens, outputTokens, cachedTokens = 0, ...part } of tokens) {
    const tariff = tariffs?.get(deploymentId)
    const own = tariff?.prices
    const dimensions =
      tariff === undefined
        ? { model_name: modelName }
        : { model_name: modelName, endpoint: tariff.endpointId }
    count('inference_input_tokens', deploymentId, dimensions, part, (inputTokens - cachedTokens) * 1000, own)
    count('inference_cached_tokens', deploymentId, dimensions, part, cachedTokens * 1000, own)
    count('inference_output_tokens', deploymentId, dimensions, part, outputTokens * 1000, own)
  }

  const unpriced = [...buckets.values()].flatMap(({ price, hour }) => (price.unit === null ? [hour] : []))
  const sealable = floorHour(earliest(addHours(now, -graceHours), undecidedSince, sealLimit, ...unpriced))
  return { buckets: [...buckets.values()], sealedThrough: latest(sealedThrough, sealable) }
}

/** Splits [from, to) at hours and `chargedSince`, in order; nothing for an empty or negative interval. */
export function* cutIntoHours(
  from: Date,
  to: Date,
  chargedSince: Date | null = null,
): Generator<{ hour: Date; beforeCharging: boolean; milliseconds: number }> {
  for (let at = from; at < to;) {
    const hour = floorHour(at)
    const next = addHours(hour, 1)
    const beforeCharging = chargedSince !== null && at < chargedSince && chargedSince < next
    const end = earliest(next, to, beforeCharging ? chargedSince : null)
    yield { hour, beforeCharging, milliseconds: end.getTime() - at.getTime() }
    at = end
  }
}

/** A meter event to report: the sealed usage of one price in one hour, in whole units. */
export interface UsageEventPlan {
  priceKey: string
  hour: Date
  quantity: number
}

/**
 * Rounds a price's hours to whole units without losing any: floor(total through the hour) - floor(total
 * before it). Hours without a unit get no event. `remainder`: the fraction carried over, in thousandths.
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
