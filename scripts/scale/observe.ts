import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import pg from 'pg'
import { readConfig } from '../../server/src/config/config.ts'
import type { Database } from '../../server/src/database/tables.ts'
import { startWorker } from '../../server/src/process/worker.ts'
import type { Application } from '../../server/src/wiring/application.ts'
import { createApplication } from '../../server/src/wiring/create-application.ts'
import type { ClusterOrders } from './cluster.ts'
import { measure } from './costs.ts'
import { createTenants, insertDeployments, organizations } from './tenants.ts'

const backends = ['kubernetes', 'xinference'] as const
const losses = 10

/** What measurements need of the machine: a PostgreSQL and a folder */
export interface Place {
  databaseUrl: string
  dataDirectory: string
}

/**
 * Runs a worker with the real adapters of clusters whose API is simulated in another process. Prints for
 * growing numbers of running deployments how many requests a cluster gets while nothing happens, and when the
 * database knows that a pod or a model has vanished.
 */
export async function measureObserving(
  place: Place,
  { deployments, seconds }: { deployments: number; seconds: number },
): Promise<void> {
  const counts = [deployments / 100, deployments / 10, deployments].map(Math.ceil)
  for (const backend of backends) await measureBackend(backend, place, { counts, seconds })
}

async function measureBackend(
  backend: string,
  place: Place,
  { counts, seconds }: { counts: readonly number[]; seconds: number },
): Promise<void> {
  await using cleanup = new AsyncDisposableStack()
  const cluster = await openCluster(backend)
  cleanup.defer(() => cluster.close())
  const dataDirectory = join(place.dataDirectory, backend)
  await mkdir(dataDirectory)
  const config = readConfig({
    ...cluster.settings,
    DATABASE_URL: await createDatabase(place.databaseUrl, backend),
    DATA_DIR: dataDirectory,
    LOG_LEVEL: 'error',
  })
  const application = await createApplication(config)
  cleanup.defer(() => application.close())
  await createTenants(application)
  const worker = await startWorker(application)
  cleanup.defer(() => worker.stop())
  let running = 0
  for (const count of counts) {
    await addRunning(application, cluster, count - running)
    const first = await collectRequests(cluster, () => waitForTwoChecks(application))
    console.log(
      `${backend}, ${count - running} more: ${first.length} requests to the cluster for their first checks`,
    )
    await measureRest(application, cluster, { backend, count, seconds })
    running = count - (await measureLosses(application, cluster, { backend, count }))
  }
}

interface OpenCluster {
  settings: Record<string, string>
  ask<Order extends keyof ClusterOrders>(
    order: Order,
    ...argument: Parameters<ClusterOrders[Order]>
  ): Promise<Awaited<ReturnType<ClusterOrders[Order]>>>
  close(): Promise<void>
}

async function openCluster(backend: string): Promise<OpenCluster> {
  const child = fork(join(import.meta.dirname, 'cluster.ts'), [backend])
  const ended = new AbortController()
  child.on('exit', () => ended.abort())
  const receive = async () => (await once(child, 'message', ended))[0]
  return {
    settings: await receive(),
    async ask(order, ...argument) {
      child.send({ order, argument: argument[0] })
      return receive()
    },
    async close() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

async function createDatabase(url: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`)
  await client.end()
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.href
}

/** Adds deployments whose engines run in the cluster. */
async function addRunning(application: Application, cluster: OpenCluster, count: number): Promise<void> {
  await application.db.transaction().execute(async (db) => {
    const added = { count, first: 1, last: organizations, status: 'running' }
    await insertDeployments({ ...application, db }, added)
    const { rows } = await sql<{ id: string }>`
      UPDATE instances SET instance_type = 'l4-x1', region = 'default', instance_id = 'dep-' || id || '-1', gpu_count = 1,
        gpu_allocation_id = 'node-1: 1 x NVIDIA L4', memory_bytes = 1000000000, context_tokens = 2048, parallel_sequences = 4,
        started_at = now(), ready_at = now(), engine_url = 'http://127.0.0.1:9'
      WHERE instance_id IS NULL RETURNING id`.execute(db)
    await cluster.ask(
      'run',
      rows.map(({ id }) => id),
    )
  })
}

/**
 * Waits until each engine was checked twice. The first check after the start of a worker may ask the cluster.
 */
function waitForTwoChecks({ db }: Application): Promise<void> {
  return waitWhile(
    db,
    sql`SELECT FROM deployments WHERE lease_number < 2 OR lease_number = 2 AND leased_until IS NOT NULL`,
  )
}

interface Observed {
  backend: string
  count: number
}

async function measureRest(
  application: Application,
  cluster: OpenCluster,
  { backend, count, seconds }: Observed & { seconds: number },
): Promise<void> {
  const done = await measure(application)
  const requests = await collectRequests(cluster, () => delay(seconds * 1000))
  const costs = await done()
  const perSecond = (number: number) => (number / costs.seconds).toFixed(1)
  const share = (cpu: number) => `${((cpu / costs.seconds) * 100).toFixed(0)} %`
  console.log(
    `${backend}, ${count} running for ${seconds} s: ${requests.length} requests to the cluster, ${perSecond(requests.length)} a second; ` +
      `${perSecond(costs.queries)} queries a second, CPU ${share(costs.serverCpu)} server and ${share(costs.databaseCpu)} PostgreSQL`,
  )
  for (const [request, number] of countEach(requests)) console.log(`  ${number} ${request}`)
}

/** The requests that the cluster gets meanwhile. */
async function collectRequests(cluster: OpenCluster, work: () => Promise<void>): Promise<string[]> {
  const before = (await cluster.ask('listRequests')).length
  await work()
  return (await cluster.ask('listRequests')).slice(before)
}

function countEach(requests: readonly string[]): [string, number][] {
  const groups = Map.groupBy(requests, (request) => request.replaceAll(/dep-[-0-9a-f]+/g, 'ENGINE'))
  return [...groups].map(([request, { length }]) => [request, length])
}

/**
 * Makes engines vanish one after the other. A loss is noticed when requests don't go to the engine anymore.
 * Returns the number of lost engines, whose deployments are terminated in the end.
 */
async function measureLosses(
  { db }: Application,
  cluster: OpenCluster,
  { backend, count }: Observed,
): Promise<number> {
  const { rows: chosen } = await sql<{ id: string }>`
    SELECT id FROM instances WHERE status = 'running' ORDER BY random() LIMIT ${losses}`.execute(db)
  const times: number[] = []
  for (const { id } of chosen) {
    const begun = performance.now()
    await cluster.ask('lose', id)
    await waitWhile(db, sql`SELECT FROM instances WHERE id = ${id} AND engine_url IS NOT NULL`)
    times.push(performance.now() - begun)
  }
  const sorted = times.toSorted((one, other) => one - other)
  console.log(
    `${backend}, ${count} running: ${chosen.length} losses noticed after ${sorted[Math.floor(sorted.length / 2)]!.toFixed(0)} ms in the ` +
      `median and ${sorted.at(-1)!.toFixed(0)} ms at most`,
  )
  await sql`
    UPDATE deployments SET wanted = 'ended', status = 'terminating', reconcile_at = now()
    WHERE id IN (SELECT deployment_id FROM instances WHERE id = ANY(${chosen.map(({ id }) => id)}))`.execute(
    db,
  )
  await waitWhile(db, sql`SELECT FROM deployments WHERE status = 'terminating'`)
  return chosen.length
}

/** Waits until a query finds nothing anymore. */
async function waitWhile(db: Database, query: RawBuilder<unknown>): Promise<void> {
  while ((await sql`${query} LIMIT 1`.execute(db)).rows.length > 0) await delay(10)
}
