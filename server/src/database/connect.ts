import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { isConflictState, isUnavailableState } from '../base/sqlstates.ts'
import { endIfSilent, onServerError } from './silent-connections.ts'
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
  const age = new ConnectionAge()
  // Between two queries of a transaction, a lost connection's unhandled error would end the process.
  pool.on('connect', (client) => {
    client.on('error', (error) => void connectionErrors.add(error))
    age.watch(client)
    if (timeoutMilliseconds !== null) endIfSilent(client, timeoutMilliseconds + graceMilliseconds)
  })
  const connect = async () => {
    for (;;) {
      const client = await pool.connect().catch((error: Error) => {
        connectionErrors.add(error)
        throw error
      })
      if (age.isOutdated(client)) client.release(true)
      else return age.closeOutdated(client)
    }
  }
  const dialect = new PostgresDialect({ pool: { options: pool.options, connect, end: () => pool.end() } })
  const db = new Kysely<Tables>({ dialect })
  return { db, pool, close: () => db.destroy() }
}

/** After a failover, connections to the demoted server fail for one request, then all are closed. */
const renewalMilliseconds = 1_000

/** Knows which connections of a pool may lead to a server that can't work now. */
class ConnectionAge {
  readonly #openedAt = new WeakMap<pg.PoolClient, number>()
  #renewedAt = -Infinity

  watch(client: pg.PoolClient): void {
    this.#openedAt.set(client, performance.now())
    onServerError(client, (code) => {
      if (!isUnavailableState(code)) return
      this.#openedAt.delete(client)
      // The server of a read-only connection is a standby now, and others may lead to it too.
      const now = performance.now()
      if (code === '25006' && now - this.#renewedAt > renewalMilliseconds) this.#renewedAt = now
    })
  }

  isOutdated(client: pg.PoolClient): boolean {
    const openedAt = this.#openedAt.get(client)
    return openedAt === undefined || openedAt < this.#renewedAt
  }

  /** Makes the release of `client` close it if it is outdated by then. */
  closeOutdated(client: pg.PoolClient): pg.PoolClient {
    const release = client.release.bind(client)
    client.release = (error) => release(error ?? this.isOutdated(client))
    return client
  }
}

/** Errors of connections that could not be opened or were lost */
const connectionErrors = new WeakSet<Error>()

/** True if a query failed because the database couldn't run it then, so that a retry may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof pg.DatabaseError && (isUnavailableState(error.code) || isConflictState(error.code)))
    return true
  return (
    connectionErrors.has(error) ||
    // The driver's message for a query on a lost connection
    error.message === 'Client has encountered a connection error and is not queryable'
  )
}

/** True if a transaction lost to another one or took too long, so that nothing of it was kept. */
export function isTransactionConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && isConflictState(error.code)
}

/** True if the database is up but accepts no changes, as a standby. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '25006'
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
