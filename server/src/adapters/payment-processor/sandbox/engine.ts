import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import { SandboxError, invalid } from './errors.ts'
import type { Step } from './store.ts'

/** Any number that nothing else in the database takes: one change of the sandbox at a time. */
const lockNumber = 7_263_110

export interface EngineOptions {
  db: Database
  clock: () => Date
  /** Enqueues the delivery of an event in the transaction that records it */
  enqueueDelivery(db: DatabaseTransaction, eventId: string): Promise<void>
}

export interface Answer {
  status: number
  body: unknown
}

/** Runs every change of the sandbox as one transaction: it happened or it didn't. */
export interface Engine {
  db: Database
  clock: () => Date
  run<Result>(work: (step: Step) => Promise<Result>): Promise<Result>
  /** As `run`, once for each `key`: the same request again gets the same answer, another one with the key an error. */
  runOnce(key: string | undefined, request: string[], work: (step: Step) => Promise<Answer>): Promise<Answer>
}

export function createEngine(options: EngineOptions): Engine {
  const { db, clock } = options
  const makeStep = (transaction: DatabaseTransaction): Step => {
    const now = clock()
    return {
      db: transaction,
      now,
      second: Math.floor(now.getTime() / 1000),
      enqueueDelivery: (...event) => options.enqueueDelivery(...event),
    }
  }

  async function run<Result>(work: (step: Step) => Promise<Result>): Promise<Result> {
    return db.transaction().execute(async (transaction) => {
      await takeLock(transaction)
      return work(makeStep(transaction))
    })
  }

  return {
    db,
    clock,
    run,
    async runOnce(key, request, work) {
      if (key === undefined) return run(work)
      if (key.length > 255) throw invalid('An idempotency key has 255 characters at most.')
      const fingerprint = createHash('sha256').update(JSON.stringify(request)).digest()
      return db.transaction().execute(async (transaction) => {
        // Waits here for another request with this key, whose row is seen only when it is through.
        const { numInsertedOrUpdatedRows: inserted } = await transaction
          .insertInto('sandbox_idempotency_keys')
          .values({ key, fingerprint, status: null, body: 'null', created_at: clock() })
          .onConflict((conflict) => conflict.column('key').doNothing())
          .executeTakeFirst()
        if (inserted === 0n) return replay(transaction, key, fingerprint)
        await takeLock(transaction)
        const answer = await workOrRefusal(transaction, () => work(makeStep(transaction)))
        await transaction
          .updateTable('sandbox_idempotency_keys')
          .set({ status: answer.status, body: JSON.stringify(answer.body) })
          .where('key', '=', key)
          .execute()
        return answer
      })
    },
  }
}

async function takeLock(transaction: DatabaseTransaction): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(${lockNumber})`.execute(transaction)
}

/** A card's refusal is an answer that is kept like any other, without what was done on the way to it. */
async function workOrRefusal(transaction: DatabaseTransaction, work: () => Promise<Answer>): Promise<Answer> {
  await sql`SAVEPOINT work`.execute(transaction)
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SandboxError) || error.type !== 'card_error') throw error
    await sql`ROLLBACK TO SAVEPOINT work`.execute(transaction)
    return { status: error.status, body: error.body }
  }
}

async function replay(transaction: DatabaseTransaction, key: string, fingerprint: Buffer): Promise<Answer> {
  const kept = await transaction
    .selectFrom('sandbox_idempotency_keys')
    .select(['fingerprint', 'status', 'body'])
    .where('key', '=', key)
    .executeTakeFirstOrThrow()
  if (!kept.fingerprint.equals(fingerprint)) {
    throw new SandboxError(
      400,
      `Keys for idempotent requests can only be used with the same parameters they were first used with: ${key}`,
      { type: 'idempotency_error' },
    )
  }
  return { status: kept.status ?? 500, body: kept.body }
}
