import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { query } from '../database/scratch.ts'
import { waitUntil } from '../support/process.ts'
import { startXinferenceSimulator } from '../xinference/simulator/simulator.ts'
import type { XinferenceSimulator } from '../xinference/simulator/simulator.ts'
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
import { clientOf, createRandom, pickFrom, waitUntilSettled } from './load.ts'
import type { LoadCounts, Tenant } from './load.ts'

export interface ManyProcessesOptions {
  /** An empty database */
  databaseUrl: string
  kills: number
  seed: number
  /** Receives one line per kill */
  report?: (line: string) => void
}

export interface ManyProcessesSummary extends LoadCounts {
  kills: { api: number; worker: number }
  /** Number of launches on the cluster */
  launches: number
}

const tenantCount = 2
const settleTimeoutMs = 60_000
const maxUptimeMs = 2_500

/** Two APIs, two workers, and the tenants that call them. */
interface Fleet {
  members: Member[]
  tenants: Tenant[]
  counts: LoadCounts
  random: () => number
  simulator: XinferenceSimulator
  databaseUrl: string
  /** Model uids in order of their launches */
  launches: string[]
}

/**
 * Runs two APIs and two workers with one PostgreSQL and one Xinference cluster, and kills random ones under load. Throws if an
 * acknowledged change is lost, or if a deployment is stuck, failed, or was provisioned or launched twice.
 */
export async function runManyProcesses(options: ManyProcessesOptions): Promise<ManyProcessesSummary> {
  await using cleanup = new AsyncDisposableStack()
  const fleet = await startFleet(options, cleanup)
  const summary = { api: 0, worker: 0 }
  for (let kill = 1; kill <= options.kills; kill++) {
    const victim = pickFrom(fleet.random, fleet.members)!
    try {
      await killUnderLoad(fleet, victim)
      summary[victim.role] += 1
      options.report?.(
        `kill ${kill}: ${victim.role}, ${fleet.counts.created} created, ${fleet.counts.chats} chats`,
      )
    } catch (error) {
      throw new Error(
        `Kill ${kill} of seed ${options.seed} (${victim.role}) failed:\n${lastLines(fleet.members)}`,
        {
          cause: error,
        },
      )
    }
  }
  await verify(fleet)
  await stopMembers(fleet.members)
  return { ...fleet.counts, kills: summary, launches: fleet.launches.length }
}

async function startFleet(
  { databaseUrl, seed }: ManyProcessesOptions,
  cleanup: AsyncDisposableStack,
): Promise<Fleet> {
  const simulator = await startXinferenceSimulator()
  cleanup.defer(() => simulator.close())
  const launches = recordLaunches(simulator)
  const members = await startMembers(
    { DATABASE_URL: databaseUrl, RUNTIME: 'xinference', XINFERENCE_URLS: simulator.url },
    cleanup,
  )
  const tenants = await registerTenants(await members[0]!.server.listening, tenantCount)
  const counts = { created: 0, deleted: 0, chats: 0, reads: 0, interrupted: 0 }
  return { members, tenants, counts, random: createRandom(seed), simulator, databaseUrl, launches }
}

function recordLaunches({ models }: XinferenceSimulator): string[] {
  const launches: string[] = []
  const set = models.set.bind(models)
  models.set = (uid, model) => {
    launches.push(uid)
    return set(uid, model)
  }
  return launches
}

/** Calls both APIs, kills the victim and restarts it. Requests to the other API must not fail. */
async function killUnderLoad(fleet: Fleet, victim: Member): Promise<void> {
  const { random } = fleet
  // Chat models only: Xinference answers 500 to a chat with an embedding model, which would hide real errors.
  const loads = await callApis(fleet, { models: ['berth-tiny', 'berth-tiny'] })
  await delay(500 + random() * maxUptimeMs)
  for (const { member, load } of loads) if (member === victim) load.isKilling = true
  await killMember(victim)
  await restartMember(victim)
  await endCalls(loads)
}

/** Expects all deployments to settle in their acknowledged state, provisioned and launched once. */
async function verify(fleet: Fleet): Promise<void> {
  const { tenants, members, databaseUrl, launches, simulator } = fleet
  const url = await members[0]!.server.listening
  for (const tenant of tenants) {
    const items = await waitUntilSettled(clientOf(url, tenant), tenant)
    const statuses = new Map(items.map(({ id, status }) => [id, status]))
    for (const [id, known] of tenant.deployments) {
      const expected = { created: ['running'], 'deletion sent': ['running', 'terminated'] } as const
      const allowed: readonly string[] = known === 'deletion answered' ? ['terminated'] : expected[known]
      if (!allowed.includes(statuses.get(id))) {
        const { body } = await clientOf(url, tenant).get(`/api/v1/model-deployments/${id}/events`)
        const events = JSON.stringify(body, null, 2)
        throw new Error(`${id} (${known}) is ${statuses.get(id) ?? 'lost'}: ${events}\n${lastLines(members)}`)
      }
    }
  }
  const spans = await query(
    databaseUrl,
    'SELECT FROM instance_spans GROUP BY deployment_id HAVING count(*) > 1',
  )
  if (spans.length > 0) throw new Error(`${spans.length} deployments were provisioned twice`)
  const twice = launches.filter((uid, index) => launches.indexOf(uid) !== index)
  if (twice.length > 0) throw new Error(`launched more than once: ${twice.join(', ')}`)
  const running = await query(
    databaseUrl,
    `SELECT inference_model_uid AS uid FROM deployments WHERE status = 'running'`,
  )
  const wanted = running.map(({ uid }: any) => String(uid)).toSorted()
  let held: string[] = []
  await waitUntil(
    () => {
      held = [...simulator.models.values()]
        .filter(({ status }) => status === 'READY' || status === 'CREATING')
        .map(({ uid }) => uid)
        .toSorted()
      return held.join() === wanted.join()
    },
    settleTimeoutMs,
    () => `the cluster to run [${wanted.join(', ')}]; it runs [${held.join(', ')}]`,
  )
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' } } })
  const kills = Number(values.kills ?? 20)
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
  if (!(kills >= 1) || !(seed >= 0)) throw new RangeError('--kills and --seed must be numbers')
  console.log(`seed ${seed}`)
  await runOnEmptyDatabase(async (databaseUrl) => {
    const report = (line: string) => console.log(line)
    console.log(await runManyProcesses({ databaseUrl, kills, seed, report }))
  })
}
