import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import { registerClient } from '../support/client.ts'
import { createDataDirectory, removeDataDirectory, spawnServer, waitUntil } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { createRandom, useServer } from './load.ts'
import type { Load, LoadCounts, Tenant } from './load.ts'

/** One process of an installation, with the settings for its restart. */
export interface Member {
  role: 'api' | 'worker'
  settings: Record<string, string>
  server: ServerProcess
}

const startTimeoutMs = 60_000

/** Runs a program with its own empty embedded database, which it removes at the end. */
export async function runOnEmptyDatabase(run: (databaseUrl: string) => Promise<void>): Promise<void> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-fleet-'))
  await chmod(dataDirectory, 0o755)
  const database = await startEmbeddedDatabase({ dataDirectory, log: () => {} })
  try {
    await run(database.url)
  } finally {
    await database.stop()
    await rm(dataDirectory, { recursive: true, force: true })
  }
}

/**
 * Starts two APIs and two workers with the same settings. The cleanup kills them. `prepare` gets each
 * DATA_DIR before the start.
 */
export async function startMembers(
  settings: Record<string, string>,
  cleanup: AsyncDisposableStack,
  prepare: (dataDirectory: string) => void = () => undefined,
): Promise<Member[]> {
  const members: Member[] = []
  cleanup.defer(() => killAll(members))
  for (const role of ['api', 'api', 'worker', 'worker'] as const) {
    const dataDirectory = await createDataDirectory()
    cleanup.defer(() => removeDataDirectory(dataDirectory))
    prepare(dataDirectory)
    const own: Record<string, string> = {
      SECRET_KEY: 'a secret shared by all processes',
      API_PROCESSES: '1',
      DRAIN_DELAY: '0s',
      ...settings,
      ROLE: role,
      DATA_DIR: dataDirectory,
    }
    const member = { role, settings: own, server: spawnServer(own) }
    members.push(member)
    await waitForStart(member)
    // Keep the port across restarts.
    if (role === 'api') member.settings = { ...own, PORT: new URL(await member.server.listening).port }
  }
  return members
}

export async function killMember({ server }: Member): Promise<void> {
  server.child.kill('SIGKILL')
  await server.exited
}

/** Starts a killed member again and waits until it works. */
export async function restartMember(member: Member): Promise<void> {
  member.server = spawnServer(member.settings)
  await waitForStart(member)
}

/** Stops all members gracefully. Throws if one does not exit with 0. */
export async function stopMembers(members: readonly Member[]): Promise<void> {
  const stopped = members.map(async ({ server }) => {
    server.child.kill('SIGTERM')
    return server.exited
  })
  const codes = await Promise.all(stopped)
  if (codes.some((code) => code !== 0))
    throw new Error(`the servers exited with ${codes.join(', ')} after SIGTERM`)
}

/** Registers accounts, in separate organizations. */
export async function registerTenants(url: string, count: number): Promise<Tenant[]> {
  const tenants: Tenant[] = []
  while (tenants.length < count) {
    tenants.push({ cookie: (await registerClient(url)).cookie(), creating: 0, deployments: new Map() })
  }
  return tenants
}

/** The calls of all tenants to one API. */
export interface MemberLoad {
  member: Member
  load: Load
  /** Resolves when the callers have stopped */
  ended: Promise<unknown>
}

/** Calls every API for all tenants until `endCalls`. */
export async function callApis(
  fleet: { members: readonly Member[]; tenants: readonly Tenant[]; counts: LoadCounts; random: () => number },
  options: Pick<Load, 'models' | 'pace'>,
): Promise<MemberLoad[]> {
  const { members, tenants, counts, random } = fleet
  const apis = members.filter(({ role }) => role === 'api')
  return Promise.all(
    apis.map(async (member) => {
      const url = await member.server.listening
      const load: Load = { url, counts, isKilling: false, failures: [], ...options }
      const callers = tenants.map((tenant) => useServer(load, tenant, createRandom(random() * 2 ** 32)))
      return { member, load, ended: Promise.all(callers) }
    }),
  )
}

/** Ends the calls. Throws if one of them failed unexpectedly. */
export async function endCalls(loads: readonly MemberLoad[]): Promise<void> {
  for (const { load } of loads) load.isKilling = true
  await Promise.all(loads.map(({ ended }) => ended))
  const failures = loads.flatMap(({ load }) => load.failures)
  if (failures.length > 0) throw new Error(failures.join('\n'))
}

/** The last lines of every member's log, for messages. */
export function lastLines(members: readonly Member[]): string {
  const tail = (text: string) =>
    text
      .split('\n')
      .filter((line) => !line.includes('"msg":"request"'))
      .slice(-8)
      .map((line) => line.slice(0, 300))
      .join('\n')
  return members.map(({ role, server }) => `--- ${role}\n${tail(server.output())}`).join('\n')
}

async function killAll(members: readonly Member[]): Promise<void> {
  await Promise.all(members.map(killMember))
}

async function waitForStart({ role, server }: Member): Promise<void> {
  if (role === 'api') return void (await server.listening)
  await waitUntil(() => server.output().includes('"working"'), startTimeoutMs, 'a worker to start')
}
