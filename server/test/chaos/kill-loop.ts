import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { registerClient } from '../support/client.ts'
import {
  createDataDirectory,
  findEngineProcesses,
  findPostmaster,
  removeDataDirectory,
  signal,
  spawnServer,
  waitUntil,
} from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { clientOf, createRandom, expectInference, pickFrom, useServer, waitUntilSettled } from './load.ts'
import type { Load, LoadCounts, Tenant } from './load.ts'
import { expectBilled } from './usage-checks.ts'

/** Processes to kill in a round. `start` kills the server, and then its successor during the start. */
const victims = ['server', 'server', 'start', 'engine', 'postgres', 'everything'] as const
type Victim = (typeof victims)[number]

export interface KillLoopOptions {
  rounds: number
  seed: number
  /** Receives one line per round */
  report?: (line: string) => void
}

export interface KillLoopSummary extends LoadCounts {
  rounds: number
  kills: Record<'server' | 'engine' | 'postgres', number>
  /** Deployments that exist although the response to their creation was lost */
  unacknowledged: number
  /** For each round, seconds from the restart until all deployments had settled */
  recoverySeconds: number[]
  /** For each round, seconds from the restart until the server listened */
  startSeconds: number[]
}

const tenantCount = 2
const callersPerTenant = 2
/** More kills within ten minutes would correctly fail the deployment. */
const maxKillsPerEngine = 2

interface Loop {
  dataDirectory: string
  random: () => number
  tenants: Tenant[]
  summary: KillLoopSummary
  engineKills: Map<string, number>
}

/**
 * Kills a server, its PostgreSQL and its engines at random moments under load, and restarts the server each
 * time. Throws if an acknowledged change is lost, a deployment is stuck or failed, or an engine runs without
 * its deployment.
 */
export async function runKillLoop({ rounds, seed, report }: KillLoopOptions): Promise<KillLoopSummary> {
  const dataDirectory = await createDataDirectory()
  const loop: Loop = {
    dataDirectory,
    random: createRandom(seed),
    tenants: [],
    summary: {
      rounds: 0,
      created: 0,
      deleted: 0,
      chats: 0,
      reads: 0,
      interrupted: 0,
      unacknowledged: 0,
      kills: { server: 0, engine: 0, postgres: 0 },
      recoverySeconds: [],
      startSeconds: [],
    },
    engineKills: new Map(),
  }
  let server = start(loop)
  try {
    const url = await server.listening
    for (let index = 0; index < tenantCount; index++) {
      loop.tenants.push({ cookie: (await registerClient(url)).cookie(), creating: 0, deployments: new Map() })
    }
    for (let round = 1; round <= rounds; round++) {
      // Round-robin, so that a few rounds cover most victims.
      const victim = victims[round % victims.length]!
      try {
        const killedAfter = await killUnderLoad(loop, server, victim)
        const restartedAt = performance.now()
        server = start(loop)
        if (victim === 'start') server = await killAtStart(loop, server)
        await server.listening
        loop.summary.startSeconds.push((performance.now() - restartedAt) / 1000)
        const counts = await verify(loop, server)
        loop.summary.recoverySeconds.push((performance.now() - restartedAt) / 1000)
        loop.summary.rounds = round
        const seconds = loop.summary.recoverySeconds.at(-1)!.toFixed(1)
        report?.(
          `round ${round}: killed ${victim} after ${killedAfter} ms, settled in ${seconds} s, ${counts}`,
        )
      } catch (error) {
        const lines = server.output().split('\n').slice(-30).join('\n')
        throw new Error(
          `Round ${round} of seed ${seed} failed (killed ${victim}). The server's last lines:\n${lines}`,
          {
            cause: error,
          },
        )
      }
    }
    await shutDown(loop, server)
    return loop.summary
  } finally {
    server.child.kill('SIGKILL')
    await server.exited
    await removeDataDirectory(dataDirectory)
  }
}

function start({ dataDirectory }: Loop): ServerProcess {
  return spawnServer({ DATA_DIR: dataDirectory })
}

/**
 * Puts the server under load, kills at a random moment, and waits until the server exits. Resolves to that
 * moment in ms.
 */
async function killUnderLoad(loop: Loop, server: ServerProcess, victim: Victim): Promise<number> {
  const { random, summary } = loop
  const load: Load = { url: await server.listening, counts: summary, isKilling: false, failures: [] }
  const seeds = Array.from({ length: tenantCount * callersPerTenant }, () => random() * 2 ** 32)
  const callers = seeds.map((seed, index) =>
    useServer(load, loop.tenants[index % tenantCount]!, createRandom(seed)),
  )
  const killedAfter = Math.round(random() * 4000)
  await delay(killedAfter)
  const postgres = await findPostmaster(loop.dataDirectory)
  const engine = pickFrom(
    random,
    (await findEngineProcesses(loop.dataDirectory)).filter(
      ({ engineId }) => (loop.engineKills.get(engineId) ?? 0) < maxKillsPerEngine,
    ),
  )
  load.isKilling = true
  if ((victim === 'engine' || victim === 'everything') && engine !== undefined) {
    signal(engine.pid, 'SIGKILL')
    loop.engineKills.set(engine.engineId, (loop.engineKills.get(engine.engineId) ?? 0) + 1)
    summary.kills.engine += 1
  }
  if ((victim === 'postgres' || victim === 'everything') && postgres !== null) {
    signal(postgres, 'SIGKILL')
    summary.kills.postgres += 1
  }
  // The server starts its PostgreSQL again, so it is killed at a random moment of that.
  if (victim === 'postgres') await delay(random() * 2000)
  server.child.kill('SIGKILL')
  summary.kills.server += 1
  await server.exited
  await Promise.all(callers)
  if (load.failures.length > 0) throw new Error(load.failures.join('\n'))
  return killedAfter
}

/** Kills a server at a random moment during its start or shortly after, and starts the next. */
async function killAtStart(loop: Loop, server: ServerProcess): Promise<ServerProcess> {
  await delay(loop.random() * 4000)
  server.child.kill('SIGKILL')
  loop.summary.kills.server += 1
  await server.exited
  return start(loop)
}

/** Checks that the restart lost nothing and repaired everything; resolves to a summary. */
async function verify(loop: Loop, server: ServerProcess): Promise<string> {
  const url = await server.listening
  const running: string[] = []
  for (const tenant of loop.tenants) {
    const client = clientOf(url, tenant)
    const items = await waitUntilSettled(client, tenant)
    const listed = new Set(items.map(({ id }) => id))
    const lost = [...tenant.deployments.keys()].filter((id) => !listed.has(id))
    if (lost.length > 0) throw new Error(`acknowledged deployments are lost: ${lost.join(', ')}`)
    for (const { id, status, instances } of items) {
      const known = tenant.deployments.get(id)
      if (status === 'failed' || (status === 'terminated' && known === 'created')) {
        const { body } = await client.get(`/api/v1/model-deployments/${id}/events`)
        throw new Error(`${id} is unexpectedly ${status}: ${JSON.stringify(body.items, null, 2)}`)
      }
      if (known === undefined) loop.summary.unacknowledged += 1
      tenant.deployments.set(id, status === 'terminated' ? 'deletion answered' : 'created')
      if (status === 'running') running.push(...instances.map((instance: { id: string }) => instance.id))
    }
  }
  await expectEngines(loop, running)
  for (const tenant of loop.tenants) await expectInference(clientOf(url, tenant))
  return `${running.length} running`
}

/** Expects exactly one engine for each instance of a running deployment, and no others. */
async function expectEngines({ dataDirectory }: Loop, running: readonly string[]): Promise<void> {
  let engines: string[] = []
  const wanted = running.toSorted().join(', ')
  await waitUntil(
    async () => {
      engines = (await findEngineProcesses(dataDirectory)).map(({ engineId }) => engineId)
      return engines.toSorted().join(', ') === wanted
    },
    20_000,
    () => `one engine for each of [${wanted}]; found [${engines.toSorted().join(', ')}]`,
  )
}

/** Deletes all deployments, expects none to remain, and stops the server gracefully. */
async function shutDown(loop: Loop, server: ServerProcess): Promise<void> {
  const url = await server.listening
  for (const tenant of loop.tenants) {
    for (const [id, known] of tenant.deployments) {
      if (known === 'deletion answered') continue
      await clientOf(url, tenant).delete(`/api/v1/model-deployments/${id}`)
      tenant.deployments.set(id, 'deletion answered')
    }
  }
  await verify(loop, server)
  for (const tenant of loop.tenants) await expectBilled(clientOf(url, tenant))
  server.child.kill('SIGTERM')
  const code = await server.exited
  if (code !== 0) throw new Error(`the server exited with ${code} after SIGTERM`)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } })
  const rounds = Number(values.rounds ?? 30)
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
  if (!(rounds >= 1) || !(seed >= 0)) throw new RangeError('--rounds and --seed must be numbers')
  console.log(`seed ${seed}`)
  const { recoverySeconds, startSeconds, ...counts } = await runKillLoop({
    rounds,
    seed,
    report: (line) => console.log(line),
  })
  console.log(counts)
  for (const [name, seconds] of Object.entries({
    'until the server listened': startSeconds,
    'until all deployments settled': recoverySeconds,
  })) {
    const sorted = seconds.toSorted((one, other) => one - other)
    const median = sorted[Math.floor(sorted.length / 2)]?.toFixed(1)
    console.log(`seconds ${name}: median ${median}, longest ${sorted.at(-1)?.toFixed(1)}`)
  }
}
