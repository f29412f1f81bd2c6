// Measures Berth with many deployments on a real PostgreSQL: the reconciler with a simulated runtime, the
// checks of running engines with the adapters of clusters, the deployment list over HTTP, and the ledger's
// jobs. `--only PART` measures one of them. It does not touch a running server.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { createApplication } from '../server/src/wiring/create-application.ts'
import type { Application } from '../server/src/wiring/application.ts'
import { readConfig } from '../server/src/config/config.ts'
import { startEmbeddedDatabase } from '../server/src/database/embedded.ts'
import { orphanCheck } from '../server/src/features/deployments/fleet/orphan-check.ts'
import { runReconciler } from '../server/src/features/deployments/fleet/run-reconciler.ts'
import { checkLedger, checkUsage } from '../server/src/features/metering/checks.ts'
import { addHours, floorHour } from '../server/src/features/metering/hours.ts'
import { settleUsage } from '../server/src/features/metering/settle.ts'
import { buildServer } from '../server/src/process/server.ts'
import { countQueries, measure, report } from './scale/costs.ts'
import { measureObserving } from './scale/observe.ts'
import { PretendedRuntime } from './scale/pretended-runtime.ts'
import { createTenants, insertDeployments, organizations } from './scale/tenants.ts'

async function countByStatus({ db }: Application): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('deployments')
    .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

async function waitWhile(application: Application, statuses: readonly string[]): Promise<void> {
  for (;;) {
    const counts = await countByStatus(application)
    if (statuses.every((status) => counts[status] === undefined)) return
    await delay(250)
  }
}

async function simulateReconciling(application: Application, count: number, watchSeconds: number) {
  await insertDeployments(application, { count, first: 1, last: organizations, status: 'requested' })
  let done = await measure(application)
  const reconciler = await runReconciler(application)
  await waitWhile(application, ['requested', 'provisioning', 'deploying'])
  report('Brought up', count, await done())
  console.log('  then', await countByStatus(application))

  done = await measure(application)
  const looksBefore = runtime.looks
  await delay(watchSeconds * 1000)
  const idle = await done()
  const looks = (runtime.looks - looksBefore) / idle.seconds
  console.log(
    `At rest for ${watchSeconds} s: ${looks.toFixed(0)} looks and ${(idle.queries / idle.seconds).toFixed(0)} queries a second, ` +
      `${((idle.serverCpu / idle.seconds) * 100).toFixed(0)} % of a core server and ` +
      `${((idle.databaseCpu / idle.seconds) * 100).toFixed(0)} % PostgreSQL`,
  )

  done = await measure(application)
  await sql`UPDATE deployments SET wanted = 'ended', status = 'terminating', reconcile_at = now() WHERE status <> 'terminated'`.execute(
    application.db,
  )
  await waitWhile(application, ['terminating'])
  report('Terminated', count, await done())
  await reconciler.stop()
  console.log(`Peak memory of the server: ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB`)
}

async function measureList(application: Application, count: number, page: number): Promise<void> {
  const app = await buildServer(application)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const signUp = async (name: string) => {
    const body = { email: `${name}@example.com`, password: 'correct horse battery', organization: name }
    const answer = await fetch(`${url}/v1/user/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    return { cookie, id: ((await answer.json()) as { user: { id: string } }).user.id }
  }
  const [large, small] = [await signUp('large'), await signUp('small')]
  for (const [owner, owned] of [
    [large, count],
    [small, page],
  ] as const) {
    const id = Number(owner.id)
    await insertDeployments(application, { count: owned, first: id, last: id, status: 'terminated' })
  }
  await sql`VACUUM ANALYZE deployments`.execute(application.db)
  for (const [owner, owned] of [
    [small, page],
    [large, count],
  ] as const) {
    const times: number[] = []
    const done = await measure(application)
    for (let round = 0; round < 400; round++) {
      const begun = performance.now()
      const answer = await fetch(`${url}/api/v1/model-deployments?limit=${page}`, {
        headers: { cookie: owner.cookie },
      })
      await answer.arrayBuffer()
      if (answer.status !== 200) throw new Error(`the list request failed with ${answer.status}`)
      // Ignore the first hundred requests (warm-up).
      if (round >= 100) times.push(performance.now() - begun)
    }
    const sorted = times.toSorted((one, other) => one - other)
    const { serverCpu, databaseCpu } = await done()
    const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(1)
    console.log(
      `A list of ${page} of a user's ${owned} deployments: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, least ${at(0)} ms, ` +
        `CPU ${(serverCpu / 0.4).toFixed(1)} ms server with its caller and ${(databaseCpu / 0.4).toFixed(1)} ms PostgreSQL`,
    )
  }
  await app.close()
}

/** Settles and checks the usage of deployments that ran for several days. */
async function measureLedger(application: Application, count: number, days: number): Promise<void> {
  const { db } = application
  const sealed = floorHour(new Date())
  const since = addHours(sealed, -days * 24)
  await insertDeployments(application, { count, first: 1, last: organizations, status: 'running' })
  await sql`
    UPDATE deployments SET created_at = ${since} WHERE status = 'running'`.execute(db)
  await sql`UPDATE instances SET started_at = ${since} WHERE status = 'running'`.execute(db)
  await sql`
    INSERT INTO instance_spans (organization_id, deployment_id, engine_id, instance_type, region, started_at, confirmed_at,
      reported_start_at)
    SELECT organization_id, deployments.id, instances.id, 'local-cpu', 'local', deployments.created_at, deployments.created_at,
      deployments.created_at
    FROM deployments JOIN instances ON deployment_id = deployments.id WHERE deployments.status = 'running'`.execute(
    db,
  )
  await sql`
    INSERT INTO usage_cursors (organization_id, sealed_through)
    SELECT DISTINCT organization_id, ${sealed}::timestamptz FROM deployments WHERE status = 'running'
    ON CONFLICT (organization_id) DO UPDATE SET sealed_through = excluded.sealed_through`.execute(db)
  for (let hour = since; hour < sealed; hour = addHours(hour, 1)) {
    await sql`
      INSERT INTO token_usage (deployment_id, organization_id, user_id, model_name, hour, requests, input_tokens, output_tokens)
      SELECT id, organization_id, user_id, model_name, ${hour}, 100, 1000, 1000 FROM deployments WHERE status = 'running'`.execute(
      db,
    )
    await sql`
      INSERT INTO usage_buckets (organization_id, deployment_id, meter, hour, dimensions, quantity, price_key, service_key,
        display_name, unit_amount, currency, sealed_at)
      SELECT organization_id, id, meter, ${hour}, dimensions, quantity, meter || '.key', 'compute', 'CPU', 0.00001, 'usd', ${hour}
      FROM deployments CROSS JOIN (VALUES
        ('gpu_instance_seconds', '{"instance_type":"local-cpu","region":"local"}'::jsonb, 3600),
        ('inference_input_tokens', '{"model_name":"berth-tiny"}', 1000),
        ('inference_output_tokens', '{"model_name":"berth-tiny"}', 1000)) AS used (meter, dimensions, quantity)
      WHERE status = 'running'`.execute(db)
  }
  await sql`VACUUM ANALYZE`.execute(db)
  const { rows } = await sql<{ size: string }>`
    SELECT pg_total_relation_size('usage_buckets') / (SELECT count(*) FROM usage_buckets) AS size`.execute(db)
  console.log(`One hour of usage at one price: ${rows[0]?.size} bytes on disk`)
  for (const [what, work] of [
    ['Settled', () => settleUsage(application)],
    ['Settled again', () => settleUsage(application)],
    ['Checked what is now', () => checkUsage(application, [orphanCheck(application)])],
    ['Checked the ledger', () => checkLedger(application)],
  ] as const) {
    const done = await measure(application)
    await work()
    report(what, count, await done())
  }
}

const parts = ['start', 'observe', 'list', 'ledger'] as const
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [...parts] },
    deployments: { type: 'string', default: '10000' },
    list: { type: 'string', default: '100000' },
    watch: { type: 'string', default: '60' },
    ledger: { type: 'string', default: '1000' },
    days: { type: 'string', default: '35' },
  },
})
const [deployments, listed, watched, settled, days] = [
  values.deployments,
  values.list,
  values.watch,
  values.ledger,
  values.days,
].map(Number)
if (!(deployments! >= 1 && listed! >= 500 && watched! >= 1 && settled! >= 1 && days! >= 1))
  throw new RangeError('--deployments, --list, --watch, --ledger and --days must be numbers')
const chosen = new Set(values.only)
if (![...chosen].every((part) => parts.some((each) => each === part)))
  throw new RangeError(`--only must be one of ${parts.join(', ')}`)
countQueries()
const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-scale-'))
// As root, PostgreSQL runs under another account, which needs access to the folder.
await chmod(dataDirectory, 0o755)
const runtime = new PretendedRuntime()
await using cleanup = new AsyncDisposableStack()
cleanup.defer(() => rm(dataDirectory, { recursive: true, force: true }))
const database = await startEmbeddedDatabase({ dataDirectory, log: () => {} })
cleanup.defer(() => database.stop())
console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before the start`)
if (chosen.has('observe'))
  await measureObserving(
    { databaseUrl: database.url, dataDirectory },
    { deployments: deployments!, seconds: watched! },
  )
const config = readConfig({ DATABASE_URL: database.url, DATA_DIR: dataDirectory, LOG_LEVEL: 'error' })
const application = await createApplication(config, { runtime })
cleanup.defer(() => application.close())
await createTenants(application)
if (chosen.has('start')) await simulateReconciling(application, deployments!, watched!)
if (chosen.has('list')) await measureList(application, listed!, 500)
if (chosen.has('ledger')) await measureLedger(application, settled!, days!)
