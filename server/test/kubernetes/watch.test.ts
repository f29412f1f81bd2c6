import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ModelRuntime } from '../../src/ports/model-runtime.ts'
import { ready, scheduled, startKubernetesApi } from './api-double.ts'
import type { KubernetesApi } from './api-double.ts'
import { makeSpec, openRuntime } from './runtime-fixtures.ts'

const specs = Array.from({ length: 20 }, () => makeSpec(randomUUID()))
const [spec] = specs as [(typeof specs)[0]]
const soon = { timeout: 20_000, interval: 20 }

let api: KubernetesApi
let runtime: ModelRuntime
const lost: string[] = []
beforeEach(async () => {
  api = await startKubernetesApi()
  runtime = await openRuntime(api)
  lost.length = 0
  runtime.onEngineLost!((engineId) => lost.push(engineId))
  for (const each of specs) await runtime.provision(each)
  api.setPods(ready)
  for (const each of specs) expect(await runtime.ensureEngine(each)).toMatchObject({ phase: 'ready' })
})
afterEach(async () => {
  await runtime.close()
  await api.close()
})

const observeAll = () => Promise.all(specs.map(({ engineId }) => runtime.observeEngine(engineId)))

/** Resolves when the checks of all engines take no request. */
function waitForWatches(): Promise<void> {
  return vi.waitFor(
    async () => {
      const before = api.requests.length
      const seen = await observeAll()
      expect(api.requests.slice(before)).toEqual([])
      for (const observation of seen) expect(observation).toMatchObject({ phase: 'ready' })
    },
    { timeout: 20_000, interval: 100 },
  )
}

test('ready engines are observed without requests, however many they are', async () => {
  await waitForWatches()
  const before = api.requests.length
  for (let count = 0; count < 50; count += 1) await observeAll()
  expect(api.requests.slice(before)).toEqual([])
  expect(api.requests.filter((request) => request.startsWith('WATCH'))).toHaveLength(2)
})

test('the watches start with the first observation, so that a process that observes nothing has none', () => {
  expect(api.requests.filter((request) => request.startsWith('WATCH'))).toEqual([])
})

test('a lost pod is reported by the watch, and the next observation asks the cluster', async () => {
  await waitForWatches()
  expect(lost).toEqual([])
  api.setPods({ phase: 'Running', conditions: [scheduled, { type: 'Ready', status: 'False' }] })
  api.publish()
  await vi.waitFor(() => expect(lost.toSorted()).toEqual(specs.map((each) => each.engineId).toSorted()), soon)
  expect(await runtime.observeEngine(spec.engineId)).toMatchObject({ phase: 'starting' })
})

test('a deleted workload is absent', async () => {
  await waitForWatches()
  await runtime.release(spec.engineId)
  await vi.waitFor(() => expect(lost).toEqual([spec.engineId]), soon)
  expect(await runtime.observeEngine(spec.engineId)).toEqual({ phase: 'absent' })
})

test('after a 410 the objects are listed again, and nothing that happened meanwhile is missed', async () => {
  await waitForWatches()
  const before = api.requests.length
  api.setPods({ phase: 'Running', conditions: [scheduled, { type: 'Ready', status: 'False' }] })
  api.expireWatches()
  const deployments = `/apis/apps/v1/namespaces/berth/deployments`
  await vi.waitFor(() => {
    expect(lost).toHaveLength(specs.length)
    expect(api.requests.slice(before)).toEqual(
      expect.arrayContaining([`GET ${deployments}`, `WATCH ${deployments}`]),
    )
  }, soon)
})

test('without permission to watch, each check asks the cluster', async () => {
  await waitForWatches()
  api.failWith(403)
  api.expireWatches()
  await vi.waitFor(async () => {
    await expect(runtime.observeEngine(spec.engineId)).rejects.toThrow(/403/)
  }, soon)
  api.failWith(null)
  expect(await runtime.observeEngine(spec.engineId)).toMatchObject({ phase: 'ready' })
  await waitForWatches()
})
