import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import type { XinferenceSimulator } from './simulator/simulator.ts'
import { openRuntime, openSimulator, provision, waitForPhase } from './support.ts'

const count = 20

/** Launches models and waits until the list of the cluster has all of them. */
async function launchModels() {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const lost: string[] = []
  runtime.onEngineLost!((engineId) => lost.push(engineId))
  const specs: EngineSpec[] = []
  for (let index = 0; index < count; index += 1) {
    const spec = await provision(runtime)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    specs.push(spec)
  }
  await vi.waitFor(() => expectListed(simulator, runtime, specs), { timeout: 10_000, interval: 100 })
  return { simulator, runtime, specs, lost }
}

async function observeAll(runtime: ModelRuntime, specs: readonly EngineSpec[]): Promise<void> {
  const seen = await Promise.all(
    specs.map(({ engineId, clusterId }) => runtime.observeEngine(engineId, clusterId)),
  )
  for (const observation of seen) expect(observation).toMatchObject({ phase: 'ready' })
}

/** The requests since `before` that ask about a single model. */
const askedAlone = ({ calls }: XinferenceSimulator, before: number) =>
  calls.slice(before).filter((call) => call.startsWith('GET /v1/models/dep-'))

test('models that serve are observed by three requests a second, however many they are', async () => {
  const { simulator, runtime, specs } = await launchModels()
  const before = simulator.calls.length
  for (let round = 0; round < 50; round += 1) {
    await observeAll(runtime, specs)
    await delay(50)
  }
  const calls = simulator.calls.slice(before)
  expect(new Set(calls)).toEqual(new Set(['GET /status', 'GET /v1/models', 'GET /v1/models/instances']))
  // The rounds take 2.5 s, and longer on a busy machine.
  expect(calls.length).toBeLessThan(count)
})

test('a lost model is reported within two seconds, and the next observation asks about it', async () => {
  const { simulator, runtime, specs, lost } = await launchModels()
  expect(lost).toEqual([])
  simulator.crash(`dep-${specs[3]!.engineId}`, 'Out of memory')
  await vi.waitFor(() => expect(lost).toEqual([specs[3]!.engineId]), { timeout: 2_000, interval: 20 })
  const { engineId, clusterId } = specs[3]!
  expect(await runtime.observeEngine(engineId, clusterId)).toMatchObject({ phase: 'failed' })
})

test('a model is asked about alone while its worker fails health checks, and while the list is unavailable', async () => {
  const { simulator, runtime, specs } = await launchModels()
  const failing = { '127.0.0.1:41001': { failure_remaining_count: 4, status: {} } }
  simulator.intercept = ({ path }) =>
    path === '/status' ? { status: 200, body: { uptime: 60, workers: failing } } : undefined
  await expectAskedAlone(simulator, runtime, specs)
  simulator.intercept = null
  await vi.waitFor(() => expectListed(simulator, runtime, specs), { timeout: 5_000, interval: 100 })
  simulator.intercept = ({ path }) => (path === '/v1/models' ? { status: 500, body: 'Error' } : undefined)
  await expectAskedAlone(simulator, runtime, specs)
})

async function expectListed(...[simulator, runtime, specs]: Parameters<typeof expectAskedAlone>) {
  const before = simulator.calls.length
  await observeAll(runtime, specs)
  expect(askedAlone(simulator, before)).toEqual([])
}

async function expectAskedAlone(
  simulator: XinferenceSimulator,
  runtime: ModelRuntime,
  specs: readonly EngineSpec[],
) {
  await vi.waitFor(
    async () => {
      const before = simulator.calls.length
      await observeAll(runtime, specs)
      expect(askedAlone(simulator, before)).toHaveLength(count)
    },
    { timeout: 5_000, interval: 100 },
  )
}
