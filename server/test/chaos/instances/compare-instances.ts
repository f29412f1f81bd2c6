import { listHalves } from './hardware.ts'
import type { Holding } from './hardware.ts'
import type { History } from './owner.ts'
import type { Action, Event, Records, Span } from './records.ts'

/** Why Berth's record may differ a little from that of the hardware. Times are milliseconds of fast time. */
export interface Disturbances {
  /** The largest error of a clock */
  clock: number
  /** How long a step of a worker may take on a busy machine */
  delay: number
  /** When workers were killed */
  workerKills: readonly number[]
}

/**
 * Fast time until a worker takes over from one that was killed between a release and its record, on an idle
 * machine
 */
const takeoverMilliseconds = 10_000

/** The latest time at which a worker knows that hardware is free, which was free at `until`. */
function findLatestEnd(until: number, { workerKills, delay }: Disturbances): number {
  let end = until + delay
  for (const at of workerKills.toSorted((one, other) => one - other)) {
    if (at > until - delay && at < end) end = Math.max(end, at + takeoverMilliseconds + delay)
  }
  return end
}

/**
 * Billed seconds equal held seconds: each holding that served has one span, from its hand-over until a worker
 * knows that it is free.
 */
export function compareBills(
  spans: readonly Span[],
  holdings: readonly Holding[],
  disturbances: Disturbances,
): string[] {
  const { clock } = disturbances
  const byEngine = Map.groupBy(spans, ({ engineId }) => engineId)
  const known = new Set(holdings.map(({ engineId }) => engineId))
  const unheld = spans.filter(({ engineId }) => !known.has(engineId))
  return [
    ...unheld.map(({ engineId }) => `${engineId} has a span but never held hardware`),
    ...holdings.flatMap(({ engineId, slot, instanceType, from, readyAt, served, returnedAt, until }) => {
      const own = byEngine.get(engineId) ?? []
      const billed = own.filter(({ isBilled }) => isBilled)
      if (until === null || returnedAt === null) return [`${engineId} still holds ${slot}`]
      if (billed.length === 0) {
        return served.requests === 0
          ? []
          : [`${engineId} answered ${served.requests} requests and is not billed`]
      }
      const [span] = billed
      if (billed.length > 1) return [`${engineId} is billed ${billed.length} times`]
      if (readyAt === null) return [`${engineId} is billed and was never ready`]
      const isRight =
        span!.slot === slot &&
        span!.instanceType === instanceType &&
        Math.abs(span!.from - from) <= clock &&
        span!.to >= until - clock &&
        span!.to <= findLatestEnd(until, disturbances) + clock
      if (isRight) return []
      const at = (time: number) => after(from, time)
      return [
        `${engineId} held ${slot} until ${at(returnedAt)}, free at ${at(until)}, but is billed for ${span!.slot} from ${at(span!.from)} to ${at(span!.to)}`,
      ]
    }),
  ]
}

/** Each second of each half of a GPU has one payer, until a worker knows that it is free. */
export function findSharedSeconds(
  spans: readonly Span[],
  holdings: readonly Holding[],
  { clock }: Disturbances,
): string[] {
  const held = new Map(holdings.map((holding) => [holding.engineId, holding]))
  const billed = spans
    .filter(({ isBilled }) => isBilled)
    .flatMap((span) => listHalves(span.slot).map((half) => ({ half, span })))
  const byHalf = Map.groupBy(billed, ({ half }) => half)
  const shared = [...byHalf.values()].flatMap((each) => {
    const own = each.map(({ span }) => span)
    // In the order of the hardware, because workers whose clocks differ may record two holdings in reverse
    const heldSince = ({ engineId, from }: Span) => held.get(engineId)?.from ?? from
    const sorted = own.toSorted((one, other) => heldSince(one) - heldSince(other))
    return sorted.flatMap((span, index) => {
      const previous = sorted[index - 1]
      if (previous === undefined) return []
      const freeAt = held.get(previous.engineId)?.until ?? Infinity
      if (span.from >= freeAt - 2 * clock) return []
      const twice = Math.min(previous.to, span.to) - span.from
      return [`${span.slot} is billed twice for ${twice} ms: to ${previous.engineId} and ${span.engineId}`]
    })
  })
  return [...new Set(shared)]
}

/**
 * With each instance that starts, a deployment has at most as many as the policy in force allows. One that is
 * being given back doesn't count.
 */
export function findTooMany(
  holdings: readonly Holding[],
  actions: readonly Action[],
  { delay }: Disturbances,
): string[] {
  const changes = [
    { at: -Infinity, most: 1 },
    ...actions.flatMap(({ at, most }) => (most === null ? [] : [{ at, most }])),
  ]
  return holdings.flatMap(({ engineId, from }) => {
    const inForce = changes.filter(
      ({ at }, index) => at <= from && (changes[index + 1]?.at ?? Infinity) > from - delay,
    )
    const most = Math.max(...inForce.map((change) => change.most))
    const held = holdings.filter((each) => each.from <= from && (each.returnedAt ?? Infinity) > from)
    if (held.length <= most) return []
    const others = held.map(
      (each) => `${after(from, each.from)} to ${after(from, each.returnedAt ?? Infinity)}`,
    )
    const policies = changes.map(({ at, most: allowed }) => `${allowed} since ${after(from, at)}`)
    return [
      `${engineId} was one too many: the instances are held from ${others.join(', ')}, and the policy allows ${policies.join(', ')}`,
    ]
  })
}

/** A time relative to another one */
const after = (from: number, at: number) => `${((at - from) / 1000).toFixed(3)} s`

/** Nothing is held and nothing is billed while a deployment sleeps. */
export function findSleepers(
  { events, spans }: Records,
  holdings: readonly Holding[],
  { clock }: Disturbances,
): string[] {
  return events.flatMap((event, index) => {
    if (event.status !== 'sleeping' || events[index - 1]?.status === 'sleeping') return []
    const woken = events.slice(index).find(({ status }) => status !== 'sleeping')
    const isAsleep = (from: number, until: number, tolerance: number) =>
      from < (woken?.at ?? Infinity) - tolerance && until > event.at + tolerance
    return [
      ...holdings
        .filter((each) => isAsleep(each.from, each.until ?? Infinity, clock))
        .map(({ engineId }) => `${engineId} held hardware during sleep`),
      ...spans
        .filter((span) => span.isBilled && isAsleep(span.from, span.to, 2 * clock))
        .map(({ engineId }) => `${engineId} was billed during sleep`),
    ]
  })
}

const isSleep = ({ stage, message }: Event) =>
  stage === 'sleep' || message.endsWith('The deployment sleeps on.')

/**
 * One wake for any number of requests: between two wakes the deployment was put to sleep. No wake while a
 * budget refuses it.
 */
export function findDoubleWakes(
  events: readonly Event[],
  { blocked }: Pick<History, 'blocked'>,
  { clock }: Disturbances,
): string[] {
  let isAwake = true
  return events.flatMap((event) => {
    if (isSleep(event)) isAwake = false
    if (event.stage !== 'wake') return []
    const wasAwake = isAwake
    isAwake = true
    const isBlocked = blocked.some(
      ({ from, until }) => event.at > from + clock + 1_000 && event.at < until - clock,
    )
    return [
      ...(wasAwake ? [`was woken twice: ${event.message}`] : []),
      ...(isBlocked ? ['was woken although a budget was exhausted'] : []),
    ]
  })
}

/** Only an engine that was dead is started again. */
export function findNeedlessWork({ engineId, starts, needlessStops, outages }: Holding): string[] {
  return [
    ...(starts > 1 + outages.length
      ? [`${engineId} was started ${starts} times and died ${outages.length} times`]
      : []),
    ...(needlessStops > 0 ? [`${engineId} was stopped while it worked`] : []),
  ]
}
