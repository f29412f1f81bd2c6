import { sql } from 'kysely'
import type { Logger } from 'pino'
import { isReadOnly } from './connect.ts'
import { settlesWithin } from './settles-within.ts'
import type { Database } from './tables.ts'

/** What the database can't do now. */
export interface DatabaseOutage {
  kind: 'unreachable' | 'read_only'
  since: Date
  /** Milliseconds on the monotonic clock */
  startedAt: number
}

/** Load balancers must notice a frozen database soon. */
const patienceMilliseconds = 1_500
/** Checks of a known outage don't wait: its query goes on, and the next check sees the result. */
const outagePatienceMilliseconds = 100

/** Checks the database with one query at a time, and logs when an outage begins and ends. */
export class DatabaseWatch {
  readonly #db: Database
  readonly #log: Pick<Logger, 'error' | 'info'>
  #asking: Promise<void> | null = null
  #outage: DatabaseOutage | null = null

  constructor(db: Database, log: Pick<Logger, 'error' | 'info'>) {
    this.#db = db
    this.#log = log
  }

  /** The outage; null if the database accepts changes. */
  async check(): Promise<DatabaseOutage | null> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = null))
    const patience = this.#outage === null ? patienceMilliseconds : outagePatienceMilliseconds
    if (!(await settlesWithin(this.#asking, patience)) && this.#outage === null) {
      this.#begin('unreachable', `no response within ${patience} ms`)
    }
    return this.#outage
  }

  async #ask(): Promise<void> {
    try {
      await requireWritable.execute(this.#db)
      this.#end()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#begin(isReadOnly(error) ? 'read_only' : 'unreachable', reason)
    }
  }

  #begin(kind: DatabaseOutage['kind'], reason: string): void {
    if (this.#outage?.kind === kind) return
    const { since, startedAt } = this.#outage ?? { since: new Date(), startedAt: performance.now() }
    this.#outage = { kind, since, startedAt }
    const message = kind === 'read_only' ? 'the database is read-only' : 'the database does not respond'
    this.#log.error({ reason }, message)
  }

  #end(): void {
    if (this.#outage === null) return
    const seconds = Math.round((performance.now() - this.#outage.startedAt) / 1000)
    this.#outage = null
    this.#log.info({ seconds }, 'the database is available again')
  }
}

/** Fails as a change would, but changes nothing. The pool closes a connection that reports 25006. */
const requireWritable = sql`DO $$ BEGIN
  IF pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'the database is read-only' USING ERRCODE = 'read_only_sql_transaction';
  END IF;
END $$`
