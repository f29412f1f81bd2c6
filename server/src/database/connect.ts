import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { endIfSilent } from './silent-connections.ts'
import type { Database, Tables } from './tables.ts'

export interface DatabaseConnection {
  db: Database
  pool: pg.Pool
  close(): Promise<void>
}

/** PostgreSQL cancels a statement and reports it within this time, unless it is frozen or unreachable. */
const graceMilliseconds = 5_000

/**
 * Opens a pool of up to `poolSize` connections to `url`. A statement that takes `timeoutMilliseconds` fails;
 * null allows any time. 64-bit integers are read as numbers: ids and counts stay below 2^53.
 */
export function connectDatabase(
  url: string,
  poolSize: number,
  onIdleError: (error: Error) => void,
  timeoutMilliseconds: number | null = 30_000,
): DatabaseConnection {
  const types = new pg.TypeOverrides()
  types.setTypeParser(pg.types.builtins.INT8, Number)
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    application_name: 'berth',
    connectionTimeoutMillis: 10_000,
    statement_timeout: timeoutMilliseconds ?? false,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    types,
  })
  pool.on('error', onIdleError)
  // Between two queries of a transaction, a lost connection's unhandled error would end the process.
  pool.on('connect', (client) => {
    client.on('error', (error) => void connectionErrors.add(error))
    if (timeoutMilliseconds !== null) endIfSilent(client, timeoutMilliseconds + graceMilliseconds)
  })
  const connect = () =>
    pool.connect().catch((error: Error) => {
      connectionErrors.add(error)
      throw error
    })
  const dialect = new PostgresDialect({ pool: { options: pool.options, connect, end: () => pool.end() } })
  const db = new Kysely<Tables>({ dialect })
  return { db, pool, close: () => db.destroy() }
}

/** Errors of connections that could not be opened or were lost */
const connectionErrors = new WeakSet<Error>()
/** SQLSTATE class 08, statement timeout, shutdown, crash, starting up, and too many connections */
const unavailableCodes = /^(08...|57014|57P0[123]|53300)$/

/** True if a query failed because the database was unreachable, so that a retry may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof pg.DatabaseError && error.code !== undefined && unavailableCodes.test(error.code))
    return true
  return (
    connectionErrors.has(error) ||
    // The driver's message for a query on a lost connection
    error.message === 'Client has encountered a connection error and is not queryable'
  )
}

/** True if the server stopped a statement that took too long, so that nothing of its transaction was kept. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '57014'
}

const fullCodes = new Set<unknown>(['53100', 'ENOSPC', 'EDQUOT'])

/** True if an operation failed because the disk of the database or of a file is full. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof Error && fullCodes.has((error as { code?: unknown }).code)
}

/** True for PostgreSQL's error that a row violates the unique index `constraint`. */
export function violatesUnique(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint
}
