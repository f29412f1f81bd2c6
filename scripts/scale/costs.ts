import { sql } from 'kysely'
import pg from 'pg'
import { findParent, readCpuTimeWithChildren } from '../../bench/processes.ts'
import type { Application } from '../../server/src/wiring/application.ts'

/** What a measurement found; CPU in seconds */
export interface Costs {
  seconds: number
  queries: number
  serverCpu: number
  databaseCpu: number
}

let queries = 0

/** Counts all statements sent to PostgreSQL, including BEGIN and COMMIT. */
export function countQueries(): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with its own `this` below
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...parameters: unknown[]) {
    queries += 1
    return Reflect.apply(query, this, parameters)
  } as typeof query
}

/** Starts a measurement, which ends when the returned function is called. */
export async function measure(application: Application): Promise<() => Promise<Costs>> {
  const postmaster = await findPostmaster(application)
  const begun = {
    at: performance.now(),
    queries,
    cpu: process.cpuUsage(),
    database: readCpuTimeWithChildren(postmaster),
  }
  return async () => {
    const { user, system } = process.cpuUsage(begun.cpu)
    return {
      seconds: (performance.now() - begun.at) / 1000,
      queries: queries - begun.queries,
      serverCpu: (user + system) / 1e6,
      databaseCpu: readCpuTimeWithChildren(postmaster) - begun.database,
    }
  }
}

/** Finds the PostgreSQL postmaster: the parent of the process that serves a connection. */
async function findPostmaster({ db }: Application): Promise<number> {
  const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(db)
  return findParent(rows[0]!.pid)
}

/** Prints the costs of each of `count` operations. */
export function report(what: string, count: number, costs: Costs): void {
  const { seconds, queries: sent, serverCpu, databaseCpu } = costs
  const milliseconds = (cpu: number) => `${((cpu / count) * 1000).toFixed(2)} ms`
  console.log(
    `${what}: ${count} in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} a second, ` +
      `${(sent / count).toFixed(1)} queries each, CPU each ${milliseconds(serverCpu)} server and ` +
      `${milliseconds(databaseCpu)} PostgreSQL`,
  )
}
