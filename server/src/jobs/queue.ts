import { sql } from 'kysely'
import { fromKysely, PgBoss } from 'pg-boss'
import type { Database } from '../database/tables.ts'
import { steadyClock } from './steady-clock.ts'

/** The payload of each job by its name. Each feature adds its jobs in its `jobs.ts`. */
export interface JobPayloads {}

export type JobName = keyof JobPayloads

interface JobOf<Name extends JobName> {
  name: Name
  /** When the job runs by itself, in UTC: minute, hour, day of month, month, day of week */
  cron?: string
  /** How many jobs of this name one worker runs at a time; 1 by default */
  concurrency?: number
  /** Runs one job. If it throws, the job is retried later. */
  run: (payload: JobPayloads[Name]) => Promise<void>
}

/** A kind of background work: its name, its schedule and its handler. */
export type Job = { [Name in JobName]: JobOf<Name> }[JobName]

export interface Jobs {
  /** Enqueues a job in the transaction of `db`; it runs after `afterSeconds` at the earliest. */
  enqueue<Name extends JobName>(
    db: Database,
    name: Name,
    payload: JobPayloads[Name],
    options?: { afterSeconds?: number | undefined },
  ): Promise<void>
  /** Creates the queues and schedules of these jobs that the database does not have. */
  prepare(jobs: readonly Job[]): Promise<void>
  /** Prepares these jobs and starts to run them. */
  work(jobs: readonly Job[]): Promise<void>
  /** Deletes all jobs in the transaction of `db`. Schedules stay. */
  discard(db: Database): Promise<void>
  /** Waits for the jobs that are running, then closes the queue. */
  close(): Promise<void>
}

const retries = { retryLimit: 10, retryDelay: 5, retryBackoff: true, retryDelayMax: 3_600 }
const expiry = { expireInSeconds: 300, heartbeatSeconds: 10 }

/** Opens the queue at `url`, and creates its tables if needed. `runsSchedule`: workers only. */
export async function openQueue(
  url: string,
  { runsSchedule, onError }: { runsSchedule: boolean; onError: (error: unknown) => void },
): Promise<Jobs> {
  // For the driver: a frozen database must not stop the queue. The queue's maintenance may take a while.
  const timeouts = { query_timeout: 60_000, keepAlive: true }
  const boss = new PgBoss({
    ...timeouts,
    connectionString: url,
    application_name: 'berth jobs',
    clock: steadyClock,
    max: 4,
    supervise: runsSchedule,
    schedule: runsSchedule,
    useListenNotify: runsSchedule,
  })
  boss.on('error', onError)
  await boss.start()
  const queues = await boss.getQueues()
  return new Queue(
    boss,
    queues.map(({ name }) => name),
    onError,
  )
}

class Queue implements Jobs {
  readonly #boss: PgBoss
  readonly #onError: (error: unknown) => void
  readonly #created: Map<string, Promise<void>>

  constructor(boss: PgBoss, existing: string[], onError: (error: unknown) => void) {
    this.#boss = boss
    this.#created = new Map(existing.map((name) => [name, Promise.resolve()]))
    this.#onError = onError
  }

  async enqueue<Name extends JobName>(
    db: Database,
    name: Name,
    payload: JobPayloads[Name],
    { afterSeconds = 0 }: { afterSeconds?: number | undefined } = {},
  ): Promise<void> {
    await this.#create(name)
    await this.#boss.send(name, payload, { db: fromKysely(db), startAfter: afterSeconds })
  }

  async prepare(jobs: readonly Job[]): Promise<void> {
    const schedules = await this.#boss.getSchedules()
    const crons = new Map(schedules.map(({ name, cron }) => [name, cron]))
    for (const { name, cron } of jobs) {
      await this.#create(name)
      if (cron !== undefined && cron !== crons.get(name)) {
        await this.#boss.schedule(name, cron, null, { singletonKey: name })
      }
    }
  }

  async work(jobs: readonly Job[]): Promise<void> {
    await this.prepare(jobs)
    for (const job of jobs) await this.#start(job)
  }

  async discard(db: Database): Promise<void> {
    await sql`DELETE FROM pgboss.job`.execute(db)
  }

  async close(): Promise<void> {
    await this.#boss.stop({ graceful: true, timeout: 10_000 })
  }

  /** Creates a job's queue at its first use, so that an API process can enqueue before any worker started. */
  #create(name: JobName): Promise<void> {
    let creation = this.#created.get(name)
    if (creation === undefined) {
      creation = this.#boss.createQueue(name, { ...retries, ...expiry, notify: true })
      creation.catch(() => this.#created.delete(name))
      this.#created.set(name, creation)
    }
    return creation
  }

  async #start(job: Job): Promise<void> {
    const { name, cron, concurrency = 1 } = job
    const batches = { batchSize: concurrency, burstWhenBatchFull: true, perJobResults: true } as const
    // Notifications announce new jobs. Polling finds delayed ones: of a scheduled job, only its retries.
    const polling = { pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: cron === undefined ? 1 : 5 }
    await this.#boss.work(name, { ...polling, ...batches }, (batch) =>
      Promise.all(batch.map((queued) => this.#run(job, queued))),
    )
  }

  async #run({ run }: Job, { id, data }: { id: string; data: unknown }) {
    try {
      await run(data as never)
      return { id, status: 'completed' as const }
    } catch (error) {
      this.#onError(error)
      return { id, status: 'failed' as const, output: { message: String(error) } }
    }
  }
}
