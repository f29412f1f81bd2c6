import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import { listenToNotifications } from '../../src/database/notifications.ts'
import { openQueue } from '../../src/jobs/queue.ts'
import { createTestDatabase } from '../support/database.ts'

// PostgreSQL may end a session at any moment, and its error then reaches a connection on which no query runs.
// An error without a listener would end the process, and this run with an unhandled error.

let database: Awaited<ReturnType<typeof createTestDatabase>>
let admin: pg.Client
beforeAll(async () => {
  database = await createTestDatabase()
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await database.drop()
})

/** Ends all sessions but the administrator's. Resolves to their number. */
async function endSessions(): Promise<number> {
  const { rowCount } = await admin.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  return rowCount ?? 0
}

test('a pool survives the end of its sessions while they are idle, in a transaction and closing', async () => {
  const idle: Error[] = []
  const { db, close } = openPool((error) => idle.push(error))
  const sleep = () => sql`SELECT pg_sleep(0.05)`.execute(db)
  await Promise.all([sleep(), sleep(), sleep()])
  await endSessions()
  await expect.poll(() => idle.length).toBe(3)

  const between = db.transaction().execute(async (transaction) => {
    await sql`SELECT 1`.execute(transaction)
    await endSessions()
    await nextTurn()
    await sql`SELECT 1`.execute(transaction)
  })
  await expect(between).rejects.toThrow()

  await Promise.all([sleep(), sleep(), sleep()])
  await Promise.all([close(), endSessions()])
  await endSessions()
})

function openPool(onIdleError: (error: Error) => void) {
  const connection = connectDatabase(database.url, 3, onIdleError)
  return { db: connection.db, close: () => connection.close() }
}

test('the job queue and the listener survive the end of their sessions, the listener also while it closes', async () => {
  const errors: unknown[] = []
  const queue = await openQueue(database.url, { runsSchedule: true, onError: (error) => errors.push(error) })
  const notifications = await listenToNotifications(database.url, (error) => errors.push(error))
  const ended = await endSessions()
  await expect.poll(() => errors.length).toBeGreaterThanOrEqual(ended)
  await expect.poll(() => notifications.isCurrent()).toBe(true)
  // pg-boss removes the listener of errors from its listening connection before it closes it, so that session
  // must not end meanwhile.
  await queue.close()
  await Promise.all([notifications.close(), endSessions()])
  await endSessions()
})
