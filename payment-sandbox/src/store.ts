import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { SandboxDatabase, SandboxTransaction } from './database.ts'
import { SandboxError, invalid } from './errors.ts'

/** The advisory lock that serializes changes; nothing else in the database uses this number. */
const lockNumber = 7_263_110

/** One change of the sandbox: a database transaction at one moment. */
export interface Change {
  db: SandboxTransaction
  now: Date
  /** `now` in whole seconds since 1970 */
  second: number
  /** Ids of the events recorded so far */
  eventIds: string[]
}

export interface StoredResponse {
  status: number
  body: object
}

export interface Store {
  db: SandboxDatabase
  clock: () => Date
  /** Runs `work` in one transaction, one change at a time. */
  change<Result>(work: (change: Change) => Promise<Result>): Promise<Result>
  /** Like `change`, once per idempotency `key`: the same request gets the first response, another an error */
  changeOnce(
    key: string | undefined,
    request: string[],
    work: (change: Change) => Promise<StoredResponse>,
  ): Promise<StoredResponse>
}

export interface StoreOptions {
  db: SandboxDatabase
  clock: () => Date
  /** Called after the transaction that recorded the events. */
  onEvents: (ids: string[]) => Promise<void>
}

export function createStore({ db, clock, onEvents }: StoreOptions): Store {
  async function transact<Result>(work: (change: Change) => Promise<Result>): Promise<Result> {
    const eventIds: string[] = []
    const result = await db.transaction().execute((transaction) => {
      const now = clock()
      return work({ db: transaction, now, second: Math.floor(now.getTime() / 1000), eventIds })
    })
    if (eventIds.length > 0) await onEvents(eventIds)
    return result
  }

  function change<Result>(work: (change: Change) => Promise<Result>): Promise<Result> {
    return transact(async (begun) => {
      await takeLock(begun)
      return work(begun)
    })
  }

  return {
    db,
    clock,
    change,
    async changeOnce(key, request, work) {
      if (key === undefined) return change(work)
      if (key.length > 255) throw invalid('An idempotency key has at most 255 characters.')
      const fingerprint = createHash('sha256').update(JSON.stringify(request)).digest()
      return transact(async (begun) => {
        // Waits for a concurrent request with the same key: its row is visible once it has committed.
        const { numInsertedOrUpdatedRows: inserted } = await begun.db
          .insertInto('idempotency_keys')
          .values({ key, fingerprint, status: null, body: 'null', created_at: begun.now })
          .onConflict((conflict) => conflict.column('key').doNothing())
          .executeTakeFirst()
        if (inserted === 0n) return replay(begun, key, fingerprint)
        await takeLock(begun)
        const response = await respondOrRefuse(begun, work)
        await begun.db
          .updateTable('idempotency_keys')
          .set({ status: response.status, body: JSON.stringify(response.body) })
          .where('key', '=', key)
          .execute()
        return response
      })
    },
  }
}

async function takeLock({ db }: Change): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(${lockNumber})`.execute(db)
}

/** Stores a refused card as the response for the key, and rolls back everything else of the request. */
async function respondOrRefuse(
  change: Change,
  work: (change: Change) => Promise<StoredResponse>,
): Promise<StoredResponse> {
  await sql`SAVEPOINT work`.execute(change.db)
  try {
    return await work(change)
  } catch (error) {
    if (!(error instanceof SandboxError) || error.type !== 'card_error') throw error
    await sql`ROLLBACK TO SAVEPOINT work`.execute(change.db)
    change.eventIds.length = 0
    return { status: error.status, body: error.body }
  }
}

async function replay({ db }: Change, key: string, fingerprint: Buffer): Promise<StoredResponse> {
  const stored = await db
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'status', 'body'])
    .where('key', '=', key)
    .executeTakeFirstOrThrow()
  if (!stored.fingerprint.equals(fingerprint)) {
    throw new SandboxError(
      400,
      `Keys for idempotent requests can only be used with the same parameters they were first used with: ${key}`,
      { type: 'idempotency_error' },
    )
  }
  return { status: stored.status ?? 500, body: stored.body as object }
}
