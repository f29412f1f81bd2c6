import { sql } from 'kysely'
import { deleteOlder } from '../../database/delete-older.ts'
import type { Database } from '../../database/tables.ts'
import type { TokenUsage } from './token-usage.ts'

/**
 * A request of a person to a model, without its content. The log begins where the person and the body are
 * known: it has refusals such as 404 `model_not_found` and 429, but no 401 and no unreadable body.
 */
export interface LoggedRequest {
  /** The `x-request-id` of the response */
  id: string
  /** How long ago it arrived */
  ageMilliseconds: number
  organizationId: number
  userId: number
  deploymentId: string | null
  /** Of the deployment, or the LoRA; the name in the request if it reached no deployment */
  model: string
  route: string
  /** 499 if the caller left before the response */
  status: number
  /** null if the response did not stream */
  firstTokenMilliseconds: number | null
  durationMilliseconds: number
  /** The `User-Agent` of the caller */
  client: string | null
  /** Earlier attempts of the client library */
  retry: number
  callerLeft: boolean
  /** The caller may not learn which part of the input was cached, because others may have asked it. */
  hidesCache: boolean
}

const modelLength = 200
const clientLength = 120
const longestMilliseconds = 2 ** 31 - 1
/** Also the highest status */
export const mostRetries = 999

/** Rows of a process in a second: more than a person reads. Ten times as many would occupy the database. */
const rowsPerSecond = 1_000

/** Half of a second's rows are for requests that people search for: failed, repeated or abandoned ones. */
export function findLogLimit({ status, retry, callerLeft }: LoggedRequest): number {
  return status < 400 && retry === 0 && !callerLeft ? rowsPerSecond / 2 : rowsPerSecond
}

/** The JSON of a row for the journal and `insertRequests`. `usage` is null without tokens. */
export function toRow(request: LoggedRequest, usage: TokenUsage | null, now: number): string {
  const { deploymentId, client, firstTokenMilliseconds: first } = request
  const cached = request.hidesCache ? null : (usage?.cachedTokens ?? null)
  return (
    `["${request.id}",${now - Math.round(request.ageMilliseconds)},${request.organizationId},${request.userId},` +
    `${deploymentId === null ? null : `"${deploymentId}"`},${quote(request.model, modelLength)},"${request.route}",` +
    `${request.status},${usage?.inputTokens ?? null},${cached},${usage?.outputTokens ?? null},` +
    `${first === null ? null : toMilliseconds(first)},${toMilliseconds(request.durationMilliseconds)},` +
    `${client === null ? null : quote(client, clientLength)},${request.retry},${request.callerLeft}]`
  )
}

function toMilliseconds(duration: number): number {
  return Math.min(Math.max(0, Math.round(duration)), longestMilliseconds)
}

/** The JSON of a short text without characters that PostgreSQL or a terminal can't take. */
function quote(text: string, length: number): string {
  return JSON.stringify(text.slice(0, length).toWellFormed().replace(/\p{C}/gu, '?'))
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a value of a journal file has the form of a row. */
export function isRow(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 16) return false
  const [id, at, organizationId, userId, deploymentId, model, route, status, ...rest] = value as unknown[]
  const [input, cached, output, first, duration, client, retry, callerLeft] = rest
  return (
    [id, deploymentId ?? id].every((each) => typeof each === 'string' && uuid.test(each)) &&
    [at, organizationId, userId, status, duration, retry].every(Number.isSafeInteger) &&
    [input, cached, output, first].every((each) => each === null || Number.isSafeInteger(each)) &&
    [model, route, client ?? ''].every((each) => typeof each === 'string') &&
    typeof callerLeft === 'boolean' &&
    [status, retry].every((each) => Math.abs(Number(each)) <= mostRetries) &&
    [first ?? 0, duration].every((each) => Math.abs(Number(each)) <= longestMilliseconds)
  )
}

/** Adds rows of `toRow`. Skips those of unknown deployments, deleted users and closed organizations. */
export async function insertRequests(db: Database, rows: readonly string[]): Promise<void> {
  if (rows.length === 0) return
  await sql`
    INSERT INTO request_log (id, at, organization_id, user_id, deployment_id, model, route, status, input_tokens, cached_tokens,
      output_tokens, first_token_ms, duration_ms, client, retry, caller_left)
    SELECT (row->>0)::uuid, to_timestamp((row->>1)::float8 / 1000), organizations.id, users.id, deployments.id, row->>5, row->>6,
      (row->>7)::smallint, (row->>8)::bigint, (row->>9)::bigint, (row->>10)::bigint, (row->>11)::integer, (row->>12)::integer,
      row->>13, (row->>14)::smallint, (row->>15)::boolean
    FROM jsonb_array_elements(${`[${rows.join(',')}]`}::jsonb) AS given (row)
    JOIN organizations ON organizations.id = (row->>2)::bigint AND organizations.status <> 'closed'
    JOIN users ON users.id = (row->>3)::bigint AND users.deleted_at IS NULL
    LEFT JOIN deployments ON deployments.id = (row->>4)::uuid
    WHERE row->>4 IS NULL OR deployments.id IS NOT NULL`.execute(db)
}

/** Deletes the requests of a person or of an organization that is being erased. */
export async function eraseRequests(
  db: Database,
  whose: { userId: number } | { organizationId: number },
): Promise<void> {
  const rows = db.deleteFrom('request_log')
  await (
    'userId' in whose
      ? rows.where('user_id', '=', whose.userId)
      : rows.where('organization_id', '=', whose.organizationId)
  ).execute()
}

/** Deletes old requests, all without a retention, and what a process wrote while its caller was erased. */
export async function pruneRequests(
  db: Database,
  now: Date,
  retentionMilliseconds: number | null,
): Promise<void> {
  await deleteOlder(db, 'request_log', 'at', new Date(now.getTime() - (retentionMilliseconds ?? 0)))
  await sql`
    DELETE FROM request_log USING users
    WHERE users.id = user_id AND users.deleted_at IS NOT NULL`.execute(db)
  await sql`
    DELETE FROM request_log USING organizations
    WHERE organizations.id = organization_id AND organizations.status = 'closed'`.execute(db)
}
