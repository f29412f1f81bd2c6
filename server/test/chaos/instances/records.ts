import type { Database } from '../../../src/database/tables.ts'
import type { Policy } from './owner.ts'
import type { Usage } from './hardware.ts'
import type { World } from './world.ts'

/** A span of the ledger. Times are milliseconds since 1970 in fast time. */
export interface Span {
  engineId: string
  deploymentId: string
  slot: string
  instanceType: string
  from: number
  to: number
  isBilled: boolean
}

export interface Event {
  deploymentId: string
  at: number
  status: string
  stage: string | null
  message: string
  /** The wake or sleep that a person began with it */
  begunByPerson: 'wake' | 'sleep' | null
}

/** An entry of the audit log. Its time is by the clock of the database, which is never set. */
export interface Action {
  deploymentId: string
  action: string
  at: number
  /** The new `max_instances`, if it was changed */
  most: number | null
}

/** What Berth has recorded about some deployments. */
export interface Records {
  spans: readonly Span[]
  events: readonly Event[]
  actions: readonly Action[]
  /** By deployment */
  metered: ReadonlyMap<string, Usage>
  policies: ReadonlyMap<string, Policy>
}

export async function readRecords(
  { db, toFastTime }: Pick<World, 'db' | 'toFastTime'>,
  ids: readonly string[],
): Promise<Records> {
  const [spans, events, actions, metered, policies] = await Promise.all([
    readSpans(db, ids),
    readEvents(db, ids),
    readActions(db, ids, toFastTime),
    readMetered(db, ids),
    readPolicies(db, ids),
  ])
  return { spans, events, actions, metered, policies }
}

async function readSpans(db: Database, ids: readonly string[]): Promise<Span[]> {
  const rows = await db.selectFrom('instance_spans').selectAll().where('deployment_id', 'in', ids).execute()
  return rows.map((row) => ({
    engineId: row.engine_id,
    deploymentId: row.deployment_id,
    slot: row.instance_id,
    instanceType: row.instance_type,
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
  return rows.map(({ deployment_id: deploymentId, at, status, stage, message, transition }) => {
    const isBegun = transition?.cause === 'person' && transition.phases === null
    const { type } = transition ?? {}
    const begunByPerson = isBegun && (type === 'wake' || type === 'sleep') ? type : null
    return { deploymentId, at: at.getTime(), status, stage, message, begunByPerson }
  })
}

async function readActions(
  db: Database,
  ids: readonly string[],
  toFastTime: World['toFastTime'],
): Promise<Action[]> {
  const rows = await db
    .selectFrom('audit_log')
    .select(['target_id', 'action', 'at', 'details'])
    .where('target_id', 'in', ids)
    .where('target_type', '=', 'deployment')
    .orderBy('id')
    .execute()
  return rows.map(({ target_id: deploymentId, action, at, details }) => ({
    deploymentId: deploymentId!,
    action,
    // A default of the table, which is not hastened
    at: toFastTime(at.getTime()),
    most: (details['max_instances'] as number | undefined) ?? null,
  }))
}

async function readMetered(db: Database, ids: readonly string[]): Promise<Map<string, Usage>> {
  const rows = await db
    .selectFrom('token_usage')
    .select(({ fn }) => [
      'deployment_id',
      fn.sum<string>('requests').as('requests'),
      fn.sum<string>('input_tokens').as('inputTokens'),
      fn.sum<string>('output_tokens').as('outputTokens'),
    ])
    .where('deployment_id', 'in', ids)
    .groupBy('deployment_id')
    .execute()
  return new Map(
    rows.map(({ deployment_id: id, requests, inputTokens, outputTokens }) => [
      id,
      { requests: Number(requests), inputTokens: Number(inputTokens), outputTokens: Number(outputTokens) },
    ]),
  )
}

async function readPolicies(db: Database, ids: readonly string[]): Promise<Map<string, Policy>> {
  const rows = await db
    .selectFrom('deployments')
    .select(['id', 'min_instances', 'max_instances', 'idle_minutes', 'yields', 'target_concurrency'])
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, ...policy }) => [id, policy as Policy]))
}
