import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { query } from '../database/scratch.ts'
import { waitUntil } from '../support/process.ts'
import type { Backend, Component } from './components.ts'
import {
  callApis,
  endCalls,
  killMember,
  lastLines,
  registerTenants,
  restartMember,
  runOnEmptyDatabase,
  startMembers,
  stopMembers,
} from './fleet.ts'
import type { Member } from './fleet.ts'
import {
  awaitInference,
  clientOf,
  createRandom,
  expectInference,
  pickFrom,
  waitUntilSettled,
} from './load.ts'
import type { LoadCounts, Tenant } from './load.ts'
import { compareUsage, expectBilled, expectNoAnomaly, readSpans, startSampling } from './usage-checks.ts'
import type { UsageComparison } from './usage-checks.ts'

export interface ComponentKillOptions {
  /** Opens the backend; the cleanup closes it */
  openBackend: (cleanup: AsyncDisposableStack) => Promise<Backend>
  /** An empty database */
  databaseUrl: string
  rounds: number
  seed: number
  /** Receives one line per round */
  report?: (line: string) => void
}

export interface ComponentKillSummary extends LoadCounts {
  /** Kills by component */
  kills: Record<string, number>
  /** Deployments that exist although the response to their creation was lost */
  unacknowledged: number
  /** For each round, seconds from the kill until everything worked again */
  recoverySeconds: number[]
  servedSeconds: number
}

const tenantCount = 2
const settleTimeoutMs = 240_000
const maxUptimeMs = 4_000

interface Installation {
  backend: Backend
  members: Member[]
  tenants: Tenant[]
  counts: LoadCounts
  random: () => number
  databaseUrl: string
  summary: ComponentKillSummary
  compare: () => Promise<UsageComparison>
}

/**
 * Runs two APIs and two workers on a backend, and kills random components under load. Throws if an
 * acknowledged change is lost, if a deployment is stuck or failed without a reason, if anything is left on
 * the backend or was launched twice without a loss, or if the bill differs from what the backend held.
 */
export async function runComponentKill(options: ComponentKillOptions): Promise<ComponentKillSummary> {
  await using cleanup = new AsyncDisposableStack()
  const { databaseUrl, rounds, seed, report } = options
  const backend = await options.openBackend(cleanup)
  const members = await startMembers({ DATABASE_URL: databaseUrl, ...backend.settings }, cleanup)
  const tenants = await registerTenants(await members[0]!.server.listening, tenantCount)
  const sampling = startSampling(backend)
  cleanup.defer(() => sampling.stop())
  const counts = { created: 0, deleted: 0, chats: 0, reads: 0, interrupted: 0 }
  const summary = {
    ...counts,
    kills: {},
    unacknowledged: 0,
    recoverySeconds: [],
    servedSeconds: 0,
  }
  const random = createRandom(seed)
  const compare = async () =>
    compareUsage(await readSpans(databaseUrl), sampling.samples, backend.toleranceMs)
  const installation: Installation = {
    backend,
    members,
    tenants,
    counts,
    random,
    databaseUrl,
    summary,
    compare,
  }
  const components = [...toComponents(members), ...backend.components]
  let bag: Component[] = []
  for (let round = 1; round <= rounds; round++) {
    // A shuffled bag, so that every component is killed equally often.
    if (bag.length === 0) bag = components.toSorted(() => random() - 0.5)
    const victim = bag.pop()!
    try {
      const outcome = await runRound(installation, victim)
      report?.(`round ${round}: ${outcome}`)
    } catch (error) {
      throw new Error(`Round ${round} of seed ${seed} failed (${victim.name}):\n${lastLines(members)}`, {
        cause: error,
      })
    }
  }
  await shutDown(installation)
  return { ...summary, ...counts }
}

function toComponents(members: readonly Member[]): Component[] {
  return (['api', 'worker'] as const).map((role) => ({
    name: role,
    carriesEngines: false,
    async killAndRestart(random, loads) {
      const member = pickFrom(
        random,
        members.filter((each) => each.role === role),
      )!
      for (const { load } of loads.filter((each) => each.member === member)) load.isKilling = true
      await killMember(member)
      await restartMember(member)
      return `${role} ${members.indexOf(member) + 1}`
    },
  }))
}

/** Kills a component under load, and expects everything to work afterwards. Resolves to a summary. */
async function runRound(installation: Installation, victim: Component): Promise<string> {
  const { random, summary, members, counts, backend } = installation
  const loads = await callApis(installation, {
    models: ['berth-tiny', 'berth-tiny'],
    pace: backend.pace,
  })
  await delay(500 + random() * maxUptimeMs)
  for (const { load } of loads) {
    load.areEnginesKilled = victim.carriesEngines
    load.areLogsCut = backend.components.includes(victim)
  }
  const killedAt = performance.now()
  const killed = await victim.killAndRestart(random, loads)
  summary.kills[victim.name] = (summary.kills[victim.name] ?? 0) + 1
  await delay(random() * maxUptimeMs)
  await endCalls(loads)
  const url = await members[0]!.server.listening
  for (const tenant of installation.tenants) await verify(installation, url, tenant)
  await expectRemains(installation)
  const { differences } = await installation.compare()
  if (differences.length > 0) {
    const histories = await Promise.all(installation.tenants.map((tenant) => readHistories(url, tenant)))
    throw new Error([...differences, ...histories].join('\n'))
  }
  const seconds = (performance.now() - killedAt) / 1000
  summary.recoverySeconds.push(seconds)
  return `killed ${killed}, recovered in ${seconds.toFixed(1)} s, ${JSON.stringify(counts)}`
}

/** The events of a tenant's deployments that still exist, one line for each. */
async function readHistories(url: string, tenant: Tenant): Promise<string> {
  const client = clientOf(url, tenant)
  const existing = [...tenant.deployments].filter(([, known]) => known === 'created')
  const lines = existing.map(async ([id]) => {
    const { body } = await client.get(`/api/v1/model-deployments/${id}/events`)
    return body.items.map((event: any) => `${id} ${event.at} ${event.status}: ${event.message}`)
  })
  return (await Promise.all(lines)).flat().join('\n')
}

/** Expects the acknowledged state of all deployments, and responses from those that run. */
async function verify({ summary }: Installation, url: string, tenant: Tenant): Promise<void> {
  const client = clientOf(url, tenant)
  // Deployments that fail meanwhile are among the settled ones.
  await awaitInference(client, settleTimeoutMs)
  const items = await waitUntilSettled(client, tenant, settleTimeoutMs)
  const listed = new Set(items.map(({ id }) => id))
  const lost = [...tenant.deployments.keys()].filter((id) => !listed.has(id))
  if (lost.length > 0) throw new Error(`acknowledged deployments are lost: ${lost.join(', ')}`)
  for (const { id, status } of items) {
    const known = tenant.deployments.get(id)
    if (known === undefined) summary.unacknowledged += 1
    if (status === 'failed' || (status === 'terminated' && known === 'created')) {
      const { body } = await client.get(`/api/v1/model-deployments/${id}/events`)
      throw new Error(`${id} is unexpectedly ${status}: ${JSON.stringify(body.items, null, 2)}`)
    } else tenant.deployments.set(id, status === 'terminated' ? 'deletion answered' : 'created')
  }
  await waitUntilSettled(client, tenant, settleTimeoutMs)
  await expectInference(client, settleTimeoutMs)
}

/**
 * Expects the backend to hold exactly the engines of the deployments that are not terminated, one for each.
 */
async function expectRemains({ tenants, backend, databaseUrl }: Installation): Promise<void> {
  const deployments = tenants
    .flatMap((tenant) => [...tenant.deployments])
    .flatMap(([id, known]) => (known === 'created' ? [id] : []))
    .toSorted()
  const live = await query<{ id: string; deployment_id: string }>(
    databaseUrl,
    `SELECT id, deployment_id FROM instances WHERE status <> 'released' AND deployment_id = ANY ('{${deployments.join()}}')`,
  )
  const serving = live.map((instance) => instance.deployment_id).toSorted()
  if (serving.join() !== deployments.join()) throw new Error(`the instances serve [${serving.join(', ')}]`)
  const wanted = live.map(({ id }) => id).toSorted()
  let remains: string[] = []
  await waitUntil(
    async () => {
      remains = await backend.listRemains().catch((error: Error) => [error.message])
      return remains.toSorted().join() === wanted.join()
    },
    settleTimeoutMs,
    () => `the backend to hold [${wanted.join(', ')}]; it holds [${remains.join(', ')}]`,
  )
}

/** Expects that no deployment was launched or provisioned twice, if the backend loses no engine. */
async function expectSingleLaunches({ backend: { launches }, databaseUrl }: Installation): Promise<void> {
  if (launches === undefined) return
  const repeated = launches.filter((id, index) => launches.indexOf(id) !== index)
  if (repeated.length > 0) throw new Error(`launched more than once: ${repeated.join(', ')}`)
  const spans = 'SELECT FROM instance_spans GROUP BY deployment_id HAVING count(*) > 1'
  const { length } = await query(databaseUrl, spans)
  if (length > 0) throw new Error(`${length} deployments were provisioned twice`)
}

/**
 * Deletes all deployments, expects nothing to remain and the exact time to be billed, and stops the servers.
 */
async function shutDown(installation: Installation): Promise<void> {
  const { members, tenants, databaseUrl, summary } = installation
  const url = await members[0]!.server.listening
  for (const tenant of tenants) {
    const client = clientOf(url, tenant)
    for (const [id, known] of tenant.deployments) {
      if (known === 'deletion answered') continue
      await client.delete(`/api/v1/model-deployments/${id}`)
      tenant.deployments.set(id, 'deletion answered')
    }
    await waitUntilSettled(client, tenant, settleTimeoutMs)
    await expectBilled(client)
  }
  await expectRemains(installation)
  await expectSingleLaunches(installation)
  await expectNoAnomaly(databaseUrl)
  const { differences, servedSeconds } = await installation.compare()
  if (differences.length > 0) throw new Error(differences.join('\n'))
  summary.servedSeconds = servedSeconds
  await stopMembers(members)
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { runtime: { type: 'string' }, rounds: { type: 'string' }, seed: { type: 'string' } },
  })
  const rounds = Number(values.rounds ?? 25)
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
  if (!(rounds >= 1) || !(seed >= 0)) throw new RangeError('--rounds and --seed must be numbers')
  const backends: Record<string, ComponentKillOptions['openBackend']> = {
    xinference: (cleanup) =>
      import('./xinference-backend.ts').then((module) => module.openXinferenceBackend(cleanup)),
    simulator: (cleanup) =>
      import('./simulator-backend.ts').then((module) => module.openSimulatorBackend(cleanup)),
    kubernetes: (cleanup) =>
      import('./kubernetes-backend.ts').then((module) => module.openKubernetesBackend(cleanup)),
  }
  const openBackend = backends[values.runtime ?? '']
  if (openBackend === undefined) throw new RangeError('--runtime must be simulator, xinference or kubernetes')
  console.log(`seed ${seed}`)
  await runOnEmptyDatabase(async (databaseUrl) => {
    const report = (line: string) => console.log(line)
    console.log(await runComponentKill({ openBackend, databaseUrl, rounds, seed, report }))
  })
}
