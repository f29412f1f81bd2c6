import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { violatesUnique } from '../../database/connect.ts'
import type { Database } from '../../database/tables.ts'
import type { BenchmarkRow, BenchmarkSettings, BenchmarksTable, BenchmarkStatus } from './tables.ts'

export type Benchmark = Selectable<BenchmarksTable>

type Key = Pick<Benchmark, 'deployment_id' | 'number'>

/** Of each deployment, the newest are kept. */
const kept = 20
/** A process that has not written for so long has ended. */
const silentSeconds = 30

/** Inserts a running benchmark; null while another one of the deployment runs. */
export async function insertBenchmark(
  db: Database,
  deploymentId: string,
  startedBy: number,
  settings: BenchmarkSettings,
  at: Date,
): Promise<Benchmark | null> {
  await endSilent(db, deploymentId)
  const last = await db
    .selectFrom('benchmarks')
    .select(({ fn }) => fn.max('number').as('number'))
    .where('deployment_id', '=', deploymentId)
    .executeTakeFirst()
  const number = (last?.number ?? 0) + 1
  await db
    .deleteFrom('benchmarks')
    .where('deployment_id', '=', deploymentId)
    .where('number', '<=', number - kept)
    .execute()
  try {
    return await db
      .insertInto('benchmarks')
      .values({
        deployment_id: deploymentId,
        number,
        started_by: startedBy,
        status: 'running',
        settings: JSON.stringify(settings),
        other_requests: null,
        error: null,
        started_at: at,
        ended_at: null,
        seen_at: sql`now()`,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    if (violatesUnique(error, 'benchmarks_running_idx') || violatesUnique(error, 'benchmarks_pkey'))
      return null
    throw error
  }
}

/** The benchmarks of a deployment, newest first. */
export async function listBenchmarks(db: Database, deploymentId: string): Promise<Benchmark[]> {
  await endSilent(db, deploymentId)
  return db
    .selectFrom('benchmarks')
    .selectAll()
    .where('deployment_id', '=', deploymentId)
    .orderBy('number', 'desc')
    .execute()
}

/** A benchmark of a deployment; null if it has none with the number. */
export async function findBenchmark(db: Database, key: Key): Promise<Benchmark | null> {
  await endSilent(db, key.deployment_id)
  const found = await db
    .selectFrom('benchmarks')
    .selectAll()
    .where('deployment_id', '=', key.deployment_id)
    .where('number', '=', key.number)
    .executeTakeFirst()
  return found ?? null
}

/** Says that a benchmark goes on, with its rows so far. False if it was ended. */
export async function touchBenchmark(
  db: Database,
  key: Key,
  rows: readonly BenchmarkRow[],
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('benchmarks')
    .set({ rows: JSON.stringify(rows), seen_at: sql`now()` })
    .where('deployment_id', '=', key.deployment_id)
    .where('number', '=', key.number)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export interface BenchmarkEnd {
  status: Exclude<BenchmarkStatus, 'running'>
  error?: string | null
  /** Absent if another process has them */
  rows?: readonly BenchmarkRow[]
}

/** Ends a benchmark that runs. */
export async function endBenchmark(
  db: Database,
  key: Key,
  { status, error = null, rows }: BenchmarkEnd,
  at: Date,
): Promise<void> {
  await db
    .updateTable('benchmarks')
    .set({ status, error, ended_at: at, ...(rows && { rows: JSON.stringify(rows) }) })
    .where('deployment_id', '=', key.deployment_id)
    .where('number', '=', key.number)
    .where('ended_at', 'is', null)
    .execute()
}

export async function setOtherRequests(db: Database, key: Key, others: number): Promise<void> {
  await db
    .updateTable('benchmarks')
    .set({ other_requests: others })
    .where('deployment_id', '=', key.deployment_id)
    .where('number', '=', key.number)
    .execute()
}

/** Ends what a process left that was killed. */
async function endSilent(db: Database, deploymentId: string): Promise<void> {
  await db
    .updateTable('benchmarks')
    .set({ status: 'interrupted', ended_at: sql`seen_at` })
    .where('deployment_id', '=', deploymentId)
    .where('ended_at', 'is', null)
    .where('seen_at', '<', sql<Date>`now() - make_interval(secs => ${silentSeconds})`)
    .execute()
}
