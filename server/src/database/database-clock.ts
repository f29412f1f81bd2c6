import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Database } from './tables.ts'

const measureMilliseconds = 10_000
const firstMeasurements = 3
/** A host whose clock differs more from the database's is reported. */
const longestDifference = 5_000

/** The database's time, for all processes alike. Between measurements the monotonic clock counts. */
export class DatabaseClock {
  readonly #read: () => Promise<number>
  readonly #log: Pick<Logger, 'error' | 'info'>
  readonly #monotonic: () => number
  readonly #timer: NodeJS.Timeout
  /** Milliseconds from the monotonic clock to the database's */
  #offset = performance.timeOrigin
  #measuring: Promise<void> | null = null
  #differs = false

  private constructor(
    read: () => Promise<number>,
    log: Pick<Logger, 'error' | 'info'>,
    monotonic: () => number,
  ) {
    this.#read = read
    this.#log = log
    this.#monotonic = monotonic
    this.#timer = setInterval(() => {
      // While the database is away, the monotonic clock counts.
      this.measure().catch(() => undefined)
    }, measureMilliseconds)
    this.#timer.unref()
  }

  /** `read` resolves to the database's time in milliseconds since 1970. */
  static async open(
    read: () => Promise<number>,
    log: Pick<Logger, 'error' | 'info'>,
    monotonic = (): number => performance.now(),
  ): Promise<DatabaseClock> {
    const clock = new DatabaseClock(read, log, monotonic)
    try {
      for (let count = 0; count < firstMeasurements; count++) await clock.measure()
      return clock
    } catch (error) {
      clock.close()
      throw error
    }
  }

  now(): Date {
    return new Date(this.#monotonic() + this.#offset)
  }

  /** Asks the database, and moves this clock as little as its answer demands. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => (this.#measuring = null))
    return this.#measuring
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #measure(): Promise<void> {
    const before = this.#monotonic()
    const at = await this.#read()
    // The database read its clock between the two readings of ours.
    this.#offset = Math.min(Math.max(this.#offset, at - this.#monotonic()), at - before)
    this.#report(measureClockDifference(() => this.now()))
  }

  #report(difference: number): void {
    const differs = Math.abs(difference) > longestDifference
    if (differs && !this.#differs) {
      this.#log.error(
        { aheadMilliseconds: Math.round(difference) },
        "this host's clock differs from the database's, which Berth uses: check the time synchronization of both",
      )
    } else if (!differs && this.#differs) {
      this.#log.info("this host's clock agrees with the database's again")
    }
    this.#differs = differs
  }
}

export async function readDatabaseTime(db: Database): Promise<number> {
  const { rows } = await sql<{ at: number }>`
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at`.execute(db)
  return rows[0]!.at
}

/** The milliseconds of this host's clock beyond `clock`, the database's. */
export function measureClockDifference(clock: () => Date): number {
  return Date.now() - clock().getTime()
}

/** By how much this host's clock differs from the database's; null for no more than five seconds */
export function describeClockDifference(clock: () => Date): string | null {
  const difference = measureClockDifference(clock)
  if (Math.abs(difference) <= longestDifference) return null
  return `${Math.round(Math.abs(difference) / 1000)} s ${difference > 0 ? 'ahead of' : 'behind'} the database`
}
