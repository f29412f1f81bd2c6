import { mkdir } from 'node:fs/promises'
import type { Logger } from 'pino'
import { createOutageFilter } from '../base/repeated-outages.ts'
import type { Config } from '../config/config.ts'
import { connectDatabase } from '../database/connect.ts'
import type { DatabaseConnection } from '../database/connect.ts'
import { lockDataDirectory } from '../database/data-directory-lock.ts'
import { startEmbeddedDatabase } from '../database/embedded.ts'
import type { EmbeddedDatabase } from '../database/embedded.ts'
import { migrateDatabase } from '../database/migrate.ts'

interface Opening {
  config: Config
  log: Logger
  /** Closes what was opened */
  opened: AsyncDisposableStack
  /** Aborts when the database or the lock on DATA_DIR is lost */
  lost: AbortController
}

/** Starts the embedded database if needed, locks DATA_DIR for a worker, and migrates the schema. */
export async function openDatabase(
  opening: Opening,
): Promise<{ databaseUrl: string; connection: DatabaseConnection }> {
  const { config, log, opened } = opening
  await mkdir(config.dataDirectory, { recursive: true })
  const database = config.databaseUrl === null ? await openEmbeddedDatabase(opening) : null
  const databaseUrl = config.databaseUrl ?? database!.url
  if (runsWorker(config)) await lockDirectory(opening, databaseUrl, database)
  else if (database?.adopted === false) opened.defer(() => database.stop())
  const onIdleError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  const migrated = await migrate(databaseUrl, onIdleError)
  if (migrated.length > 0) log.info({ migrations: migrated }, 'database migrated')
  const connection = connectDatabase(
    databaseUrl,
    config.databasePoolSize,
    onIdleError,
    config.databaseTimeoutMilliseconds,
  )
  opened.defer(() => connection.close())
  return { databaseUrl, connection }
}

/** Locks before it takes charge of the embedded database, which the holder of the lock may be using. */
async function lockDirectory(
  { config, log, opened, lost }: Opening,
  databaseUrl: string,
  database: EmbeddedDatabase | null,
): Promise<void> {
  let isInUse = false
  // Its own filter: the line is written although others have the same cause.
  const judge = createOutageFilter()
  let lastCrash: string | null = null
  const explainInterruption = async (error: unknown) => {
    const { isWritten } = judge(error)
    const postgresql = (await database?.findCrash()) ?? null
    if (!isWritten && (postgresql === null || postgresql === lastCrash)) return
    lastCrash = postgresql
    const reason = error instanceof Error ? error.message : String(error)
    log.warn({ reason, postgresql }, 'the lock on DATA_DIR is interrupted; reacquiring it')
  }
  const lock = await lockDataDirectory(databaseUrl, config.dataDirectory, {
    onLost: (cause) => {
      isInUse = true
      lost.abort(new Error('The lock on DATA_DIR was lost.', { cause }))
    },
    onInterrupted: (error) => void explainInterruption(error),
  })
  opened.defer(async () => {
    if (!isInUse) await database?.stop()
  })
  opened.defer(() => lock.release())
}

/** Migrates without a timeout, because a migration may build an index or wait for another process. */
async function migrate(databaseUrl: string, onIdleError: (error: Error) => void): Promise<string[]> {
  const connection = connectDatabase(databaseUrl, 1, onIdleError, null)
  try {
    return await migrateDatabase(connection.db)
  } finally {
    await connection.close()
  }
}

/** True for roles that run the worker. Only one worker at a time may use a DATA_DIR. */
function runsWorker({ role }: Config): boolean {
  return role === 'all' || role === 'worker'
}

function openEmbeddedDatabase({ config, log, lost }: Opening): Promise<EmbeddedDatabase> {
  const keepRunning = (error: Error) =>
    log.error({ err: error }, 'the embedded PostgreSQL is interrupted; starting it again')
  return startEmbeddedDatabase({
    dataDirectory: config.dataDirectory,
    log: (message) => log.info(message),
    onExit: (error) => lost.abort(error),
    onInterrupted: runsWorker(config) ? keepRunning : undefined,
  })
}
