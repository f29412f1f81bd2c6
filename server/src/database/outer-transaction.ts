import { CompiledQuery, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import type { DatabaseConnection, Driver, QueryResult, Transaction, TransactionSettings } from 'kysely'
import type { Database, Tables } from './tables.ts'

/**
 * Joins all that is written through its `db` into one transaction, which begins with the first write.
 * Transactions of `db` become savepoints.
 */
export class OuterTransaction {
  readonly db: Database
  readonly #outer: Outer

  constructor(pool: Database) {
    const outer = new Outer(pool)
    this.#outer = outer
    this.db = new Kysely<Tables>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new JoiningDriver(outer),
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    })
  }

  async commit(): Promise<void> {
    await this.#outer.end('commit')
  }

  async rollback(): Promise<void> {
    await this.#outer.end('rollback')
  }
}

class JoiningDriver implements Driver {
  readonly #outer: Outer

  constructor(outer: Outer) {
    this.#outer = outer
  }

  async init(): Promise<void> {}
  async destroy(): Promise<void> {}
  async releaseConnection(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return new JoiningConnection(this.#outer)
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    await toJoining(connection).begin(settings)
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await toJoining(connection).end('commit')
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await toJoining(connection).end('rollback')
  }
}

function toJoining(connection: DatabaseConnection): JoiningConnection {
  if (connection instanceof JoiningConnection) return connection
  throw new Error('the connection belongs to another driver')
}

type End = 'commit' | 'rollback'

/** A connection for one query or one inner transaction. */
class JoiningConnection implements DatabaseConnection {
  readonly #outer: Outer
  /** A transaction that only reads, before the first write */
  #snapshot: OpenTransaction | null = null

  constructor(outer: Outer) {
    this.#outer = outer
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#snapshot === null) return this.#outer.execute<Row>(query)
    return (await this.#snapshot.opened).executeQuery<Row>(query)
  }

  streamQuery(): never {
    throw new Error('An outer transaction streams no rows.')
  }

  async begin(settings: TransactionSettings): Promise<void> {
    if (settings.accessMode === 'read only' && !this.#outer.hasBegun) {
      this.#snapshot = openTransaction(this.#outer.pool, settings)
    } else await this.#outer.beginInner()
  }

  async end(end: End): Promise<void> {
    if (this.#snapshot === null) await this.#outer.endInner(end)
    else await endTransaction(this.#snapshot, end)
  }
}

class Outer {
  readonly pool: Database
  #transaction: OpenTransaction | null = null
  #hasEnded = false
  /** The inner transaction that goes on; the next one waits for its end. */
  #inner: PromiseWithResolvers<void> | null = null

  constructor(pool: Database) {
    this.pool = pool
  }

  get hasBegun(): boolean {
    return this.#transaction !== null
  }

  async execute<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const reads = /^\s*select\b/i.test(query.sql)
    if (this.#hasEnded || (reads && !this.hasBegun)) return this.pool.executeQuery<Row>(query)
    if (reads || this.#inner !== null) return this.#send<Row>(query)
    // An error of a single statement must not end the outer transaction.
    await this.beginInner()
    try {
      const result = await this.#send<Row>(query)
      await this.endInner('commit')
      return result
    } catch (error) {
      await this.endInner('rollback')
      throw error
    }
  }

  async beginInner(): Promise<void> {
    if (this.#hasEnded) throw new Error('The outer transaction has ended.')
    while (this.#inner !== null) await this.#inner.promise
    this.#inner = Promise.withResolvers()
    try {
      await this.#send(CompiledQuery.raw('SAVEPOINT inner_transaction'))
    } catch (error) {
      this.#leaveInner()
      throw error
    }
  }

  async endInner(end: End): Promise<void> {
    try {
      if (end === 'rollback') await this.#send(CompiledQuery.raw('ROLLBACK TO SAVEPOINT inner_transaction'))
      await this.#send(CompiledQuery.raw('RELEASE SAVEPOINT inner_transaction'))
    } finally {
      this.#leaveInner()
    }
  }

  async end(end: End): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (this.#transaction !== null) await endTransaction(this.#transaction, end)
  }

  #leaveInner(): void {
    this.#inner?.resolve()
    this.#inner = null
  }

  async #send<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    this.#transaction ??= openTransaction(this.pool, {})
    return (await this.#transaction.opened).executeQuery<Row>(query)
  }
}

const rolledBack = new Error('the transaction is rolled back')

interface OpenTransaction {
  opened: Promise<Transaction<Tables>>
  /** Resolve to commit, reject with `rolledBack` to roll back */
  finish: PromiseWithResolvers<void>
  /** Rejects if the commit failed */
  finished: Promise<void>
}

/** Kysely's controlled transactions keep a lost connection in the pool. */
function openTransaction(
  pool: Database,
  { isolationLevel, accessMode }: TransactionSettings,
): OpenTransaction {
  const opened = Promise.withResolvers<Transaction<Tables>>()
  const finish = Promise.withResolvers<void>()
  let builder = pool.transaction()
  if (isolationLevel !== undefined) builder = builder.setIsolationLevel(isolationLevel)
  if (accessMode !== undefined) builder = builder.setAccessMode(accessMode)
  const finished = builder
    .execute(async (transaction) => {
      opened.resolve(transaction)
      await finish.promise
    })
    .catch((error: unknown) => {
      opened.reject(error)
      if (error !== rolledBack) throw error
    })
  // Whoever ends the transaction awaits the error.
  finished.catch(() => undefined)
  finish.promise.catch(() => undefined)
  return { opened: opened.promise, finish, finished }
}

async function endTransaction({ finish, finished }: OpenTransaction, end: End): Promise<void> {
  if (end === 'commit') finish.resolve()
  else finish.reject(rolledBack)
  await finished
}
