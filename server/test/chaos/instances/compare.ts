import type { Database } from '../../../src/database/tables.ts'
import type { Holding } from './hardware.ts'
import type { History } from './history.ts'

/** A span of the ledger. Times are milliseconds since 1970 in fast time. */
interface Span {
  engineId: string
  deploymentId: string
  slot: string
  from: number
  to: number
  isBilled: boolean
}

interface Event {
  deploymentId: string
  at: number
  status: string
  stage: string | null
  message: string
}

/** What the ledger may differ by, because a clock was set or a process was killed. In milliseconds of fast time. */
export interface Tolerance {
  clock: number
  release: number
}

/** Compares what Berth recorded about ended histories with what the hardware and the callers saw. Returns a sentence for each difference. */
export async function compareHistories(
  db: Database,
  histories: readonly History[],
  holdings: readonly Holding[],
  tolerance: Tolerance,
): Promise<string[]> {
  const ids = new Set(histories.flatMap(({ deployments }) => [...deployments.keys()]))
  if (ids.size === 0) return []
  const [spans, events, served] = await Promise.all([
    readSpans(db, [...ids]),
    readEvents(db, [...ids]),
    readServed(db, [...ids]),
  ])
  const held = holdings.filter(({ deploymentId }) => ids.has(deploymentId))
  return [
    ...compareBills(spans, held, tolerance),
    ...findSharedSeconds(spans, tolerance),
    ...histories.flatMap((history) =>
      [...history.deployments].flatMap(([id, { most }]) => {
        const own = <Each extends { deploymentId: string }>(list: readonly Each[]) =>
          list.filter(({ deploymentId }) => deploymentId === id)
        return [
          ...findTooMany(own(held), most, id),
          ...findSleepers(own(events), own(held), own(spans), tolerance),
          ...findDoubleWakes(own(events), history, tolerance),
          ...compareTokens(history, own(held), served.get(id) ?? 0, id),
        ]
      }),
    ),
  ]
}

/** Billed seconds equal held seconds: each holding that served has one span, from its hand-over until a worker knows that it is free. */
function compareBills(
  spans: readonly Span[],
  holdings: readonly Holding[],
  { clock, release }: Tolerance,
): string[] {
  const byEngine = Map.groupBy(spans, ({ engineId }) => engineId)
  const known = new Set(holdings.map(({ engineId }) => engineId))
  const unheld = spans.filter(({ engineId }) => !known.has(engineId))
  return [
    ...unheld.map(({ engineId }) => `${engineId} has a span but never held hardware`),
    ...holdings.flatMap(({ engineId, slot, from, readyAt, served, returnedAt, until }) => {
      const own = byEngine.get(engineId) ?? []
      const billed = own.filter(({ isBilled }) => isBilled)
      if (until === null || returnedAt === null) return [`${engineId} still holds ${slot}`]
      if (billed.length === 0) {
        return served === 0 ? [] : [`${engineId} answered ${served} requests and is not billed`]
      }
      const [span] = billed
      if (billed.length > 1) return [`${engineId} is billed ${billed.length} times`]
      if (readyAt === null) return [`${engineId} is billed and was never ready`]
      const isRight =
        span!.slot === slot &&
        Math.abs(span!.from - from) <= clock &&
        span!.to >= until - clock &&
        span!.to <= until + release + clock
      if (isRight) return []
      const at = (time: number) => `${((time - from) / 1000).toFixed(3)} s`
      return [
        `${engineId} held ${slot} until ${at(returnedAt)}, free at ${at(until)}, but is billed for ${span!.slot} from ${at(span!.from)} to ${at(span!.to)}`,
      ]
    }),
  ]
}

/** Each second of a GPU has one payer, apart from those that pass until a worker knows that it is free. */
function findSharedSeconds(spans: readonly Span[], { clock, release }: Tolerance): string[] {
  const bySlot = Map.groupBy(
    spans.filter(({ isBilled }) => isBilled),
    ({ slot }) => slot,
  )
  return [...bySlot].flatMap(([slot, own]) => {
    const sorted = own.toSorted((one, other) => one.from - other.from)
    return sorted.flatMap((span, index) => {
      const previous = sorted[index - 1]
      if (previous === undefined) return []
      const shared = Math.min(previous.to, span.to) - span.from
      if (shared <= clock + release) return []
      return [`${slot} is billed twice for ${shared} ms: to ${previous.engineId} and ${span.engineId}`]
    })
  })
}

/** Never more instances than the policy ever allowed. One that is being given back is none. */
function findTooMany(holdings: readonly Holding[], most: number, id: string): string[] {
  const mostHeld = Math.max(
    0,
    ...holdings.map(
      ({ from }) =>
        holdings.filter((other) => other.from <= from && (other.returnedAt ?? Infinity) > from).length,
    ),
  )
  return mostHeld <= most ? [] : [`${id} held ${mostHeld} instances, and its policy allows ${most}`]
}

/** Nothing is held and nothing is billed while a deployment sleeps. */
function findSleepers(
  events: readonly Event[],
  holdings: readonly Holding[],
  spans: readonly Span[],
  { clock }: Tolerance,
): string[] {
  return events.flatMap((event, index) => {
    if (event.status !== 'sleeping' || events[index - 1]?.status === 'sleeping') return []
    const woken = events.slice(index).find(({ status }) => status !== 'sleeping')
    const [from, to] = [event.at + clock, (woken?.at ?? Infinity) - clock]
    const overlaps = (start: number, end: number) => start < to && end > from
    return [
      ...holdings
        .filter((each) => overlaps(each.from, each.until ?? Infinity))
        .map(({ engineId }) => `${engineId} held hardware while ${event.deploymentId} slept`),
      ...spans
        .filter((span) => span.isBilled && overlaps(span.from, span.to))
        .map(({ engineId }) => `${engineId} was billed while ${event.deploymentId} slept`),
    ]
  })
}

const isSleep = ({ stage, message }: Event) =>
  stage === 'sleep' || message.endsWith('The deployment sleeps on.')

/** One wake for any number of requests: between two wakes the deployment was put to sleep. No wake while a budget refuses it. */
function findDoubleWakes(events: readonly Event[], { blocked }: History, { clock }: Tolerance): string[] {
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
      ...(wasAwake ? [`${event.deploymentId} was woken twice: ${event.message}`] : []),
      ...(isBlocked ? [`${event.deploymentId} was woken although a budget was exhausted`] : []),
    ]
  })
}

/** No acknowledged request is lost: each answer was served by an engine, and is metered. */
function compareTokens(
  { asked }: History,
  holdings: readonly Holding[],
  metered: number,
  id: string,
): string[] {
  const answered = asked.filter(({ deploymentId, outcome }) => deploymentId === id && outcome === '').length
  const served = holdings.reduce((sum, holding) => sum + holding.served, 0)
  if (answered <= metered && metered <= served) return []
  return [`${id} answered ${answered} requests, metered ${metered}, and its engines served ${served}`]
}

async function readSpans(db: Database, ids: readonly string[]): Promise<Span[]> {
  const rows = await db.selectFrom('instance_spans').selectAll().where('deployment_id', 'in', ids).execute()
  return rows.map((row) => ({
    engineId: row.engine_id,
    deploymentId: row.deployment_id,
    slot: row.instance_id,
    from: row.started_at.getTime(),
    to: row.ended_at?.getTime() ?? Infinity,
    isBilled: row.voided_at === null,
  }))
}

async function readEvents(db: Database, ids: readonly string[]): Promise<Event[]> {
  const rows = await db
    .selectFrom('deployment_events')
    .selectAll()
    .where('deployment_id', 'in', ids)
    .orderBy('id')
    .execute()
  return rows.map(({ deployment_id: deploymentId, at, status, stage, message }) => ({
    deploymentId,
    at: at.getTime(),
    status,
    stage,
    message,
  }))
}

/** The metered requests of each deployment */
async function readServed(db: Database, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('token_usage')
    .select(['deployment_id', ({ fn }) => fn.sum<string>('requests').as('requests')])
    .where('deployment_id', 'in', ids)
    .groupBy('deployment_id')
    .execute()
  return new Map(rows.map(({ deployment_id: id, requests }) => [id, Number(requests)]))
}
