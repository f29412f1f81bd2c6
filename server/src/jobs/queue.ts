import { fromKysely, PgBoss } from 'pg-boss'
import type { Database } from '../database/tables.ts'
import { schedule, taskNames } from './tasks.ts'
import type { TaskName, Tasks } from './tasks.ts'

export interface Jobs {
  /** Enqueues a job in the transaction of `db`: it is there exactly if the transaction commits, and done `afterSeconds` at the earliest. */
  enqueue<Name extends TaskName>(
    db: Database,
    task: Name,
    payload: Tasks[Name],
    options?: { afterSeconds?: number | undefined },
  ): Promise<void>
  /** Begins to do the jobs of a kind, up to `atOnce` (1) of them at a time; a handler that throws has its job done again later. */
  handle<Name extends TaskName>(
    task: Name,
    handler: (payload: Tasks[Name]) => Promise<void>,
    options?: { atOnce?: number | undefined },
  ): Promise<void>
  /** Lets the jobs under way finish. */
  close(): Promise<void>
}

const retries = { retryLimit: 10, retryDelay: 5, retryBackoff: true, retryDelayMax: 3_600 }
const expiry = { expireInSeconds: 300, heartbeatSeconds: 10 }

/** Opens the queue in the database at `url`, creating its tables when they are not there. `runsSchedule`: workers only. */
export async function openQueue(
  url: string,
  options: { runsSchedule: boolean; onError: (error: unknown) => void },
): Promise<Jobs> {
  const { runsSchedule, onError } = options
  const boss = new PgBoss({
    connectionString: url,
    application_name: 'berth jobs',
    max: 4,
    supervise: runsSchedule,
    schedule: runsSchedule,
    useListenNotify: runsSchedule,
  })
  boss.on('error', onError)
  await boss.start()
  for (const task of taskNames) await boss.createQueue(task, { ...retries, ...expiry, notify: true })
  if (runsSchedule) {
    for (const { task, cron } of schedule) await boss.schedule(task, cron, null, { singletonKey: task })
  }
  return {
    async enqueue(db, task, payload, { afterSeconds = 0 } = {}) {
      await boss.send(task, payload, { db: fromKysely(db), startAfter: afterSeconds })
    },
    async handle(task, handler, { atOnce = 1 } = {}) {
      const batches = { batchSize: atOnce, burstWhenBatchFull: true, perJobResults: true } as const
      // A new job wakes us; the poll is for those that were put off.
      const polling = { pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 1 }
      await boss.work(task, { ...polling, ...batches }, (jobs) =>
        Promise.all(
          jobs.map(async ({ id, data }) => {
            try {
              await handler(data as never)
              return { id, status: 'completed' }
            } catch (error) {
              onError(error)
              return { id, status: 'failed', output: { message: String(error) } }
            }
          }),
        ),
      )
    },
    async close() {
      await boss.stop({ graceful: true, timeout: 10_000 })
    },
  }
}
