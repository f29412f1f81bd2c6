import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ModelRuntime } from '../../src/ports/model-runtime.ts'
import { at, ready, scheduled, startKubernetesApi } from './api-double.ts'
import type { KubernetesApi } from './api-double.ts'
import { makeSpec, openRuntime } from './runtime-fixtures.ts'

let api: KubernetesApi
let runtime: ModelRuntime
beforeEach(async () => {
  api = await startKubernetesApi()
  runtime = await openRuntime(api)
})
afterEach(async () => {
  await runtime.close()
  await api.close()
})

const engineId = randomUUID()
const spec = makeSpec(engineId)

async function startEngine() {
  await runtime.provision(spec)
  api.setPods(ready)
  expect(await runtime.ensureEngine(spec)).toMatchObject({
    phase: 'ready',
    endpoint: { baseUrl: `http://dep-${engineId}.berth.svc:8000` },
    instance: { instanceId: `dep-${engineId}-1`, gpuAllocationId: 'node-1: 1 x NVIDIA L4' },
  })
}

test('listOffers: 90 % of the memory of each type, in the configured region', async () => {
  expect(await runtime.listOffers()).toEqual([
    expect.objectContaining({ instanceType: 'l4-x1', region: 'eu', memoryBytes: 18 * 2 ** 30 }),
  ])
})

test('provision: pending until the pod has a node; started_at is the time of scheduling', async () => {
  expect(await runtime.provision(spec)).toMatchObject({ outcome: 'pending' })
  api.setPods({ conditions: [scheduled] })
  expect(await runtime.provision(spec)).toMatchObject({
    outcome: 'provisioned',
    instance: { startedAt: new Date(at), region: 'eu', gpuAllocationId: 'node-1: 1 x NVIDIA L4' },
  })
  expect(await runtime.provision({ ...spec, instanceType: 'h100-x8' })).toMatchObject({
    outcome: 'refused',
    message: 'This cluster does not have the instance type h100-x8.',
  })
})

test('provision: the bundled model is carried to the pod in Secrets', async () => {
  const weights = { kind: 'file' as const, path: 'weights/berth-tiny.gguf' }
  const bundled = { ...spec, variant: { ...spec.variant, weights } }
  expect(await runtime.provision(bundled)).toMatchObject({ outcome: 'pending' })
  const parts = api.list('secrets').filter(({ metadata }) => metadata.name.includes('-weights-'))
  expect(parts.map(({ metadata }) => metadata.name)).toEqual(
    [0, 1, 2].map((index) => `dep-${engineId}-weights-${index}`),
  )
  const missing = { ...weights, path: 'weights/none.gguf' }
  expect(
    await runtime.provision({ ...bundled, variant: { ...spec.variant, weights: missing } }),
  ).toMatchObject({ outcome: 'refused', message: expect.stringContaining('weights/none.gguf') })
})

test('provision: another process completes the objects of one that crashed', async () => {
  await runtime.provision(spec)
  const names = ['secrets', 'services', 'networkpolicies']
  expect(names.map((plural) => api.list(plural).length)).toEqual([1, 1, 1])
  const before = api.list('services')[0]
  api.requests.length = 0
  await runtime.provision(spec)
  expect(api.requests.filter((request) => request.startsWith('PATCH'))).toEqual([])
  await (await openRuntime(api)).provision(spec)
  expect(api.requests.filter((request) => request.startsWith('PATCH'))).toHaveLength(4)
  expect(api.list('services')[0]?.['spec']).toEqual(before?.['spec'])
  expect(api.list('pods')).toHaveLength(1)
})

test('observeEngine: until the watches have begun, a ready engine costs one request', async () => {
  await startEngine()
  api.requests.length = 0
  expect(await runtime.observeEngine(engineId)).toMatchObject({ phase: 'ready' })
  const own = api.requests.filter((request) => request.includes(engineId))
  expect(own).toEqual([`GET /apis/apps/v1/namespaces/berth/deployments/dep-${engineId}`])
})

test('observeEngine: a replaced pod is the new instance, with the reason for the loss of the old one', async () => {
  await startEngine()
  const provisioned = await runtime.provision(spec)
  const [pod] = api.list('pods')
  const createdAt = new Date(Date.parse(at) + 60_000)
  const startedAt = new Date(Date.parse(at) + 90_000)
  api.addPod({
    ...pod,
    metadata: {
      ...pod?.['metadata'],
      name: `dep-${engineId}-2`,
      creationTimestamp: createdAt.toISOString(),
    },
    spec: { ...pod?.['spec'], nodeName: 'node-2' },
    status: {
      ...ready,
      containerStatuses: [
        {
          name: 'engine',
          image: 'llama.cpp:1',
          imageID: '',
          ready: true,
          restartCount: 0,
          state: { running: { startedAt: startedAt.toISOString() } },
        },
      ],
    },
  })
  Object.assign(pod?.['status'], { phase: 'Succeeded', reason: 'Evicted', conditions: [] })
  for (const each of [await openRuntime(api), runtime]) {
    api.setAvailableSince(createdAt)
    expect(await each.observeEngine(engineId)).toMatchObject({
      phase: 'ready',
      instance: {
        instanceId: `dep-${engineId}-2`,
        gpuAllocationId: 'node-2: 1 x NVIDIA L4',
        createdAt,
        startedAt,
        reason: "The engine's pod was evicted from node node-1.",
      },
    })
  }
  expect(provisioned).toMatchObject({ instance: { instanceId: `dep-${engineId}-1` } })
})

test('observeEngine: diagnoses a crash loop from the last log lines', async () => {
  await startEngine()
  api.log = `${at} loading\n${at} unknown model architecture: 'future'\n`
  api.setPods({
    conditions: [scheduled],
    containerStatuses: [
      {
        name: 'engine',
        image: 'llama.cpp:1',
        imageID: '',
        ready: false,
        restartCount: 3,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 1, reason: 'Error' } },
      },
    ],
  })
  expect(await runtime.observeEngine(engineId)).toMatchObject({
    phase: 'failed',
    code: 'launch_rejected',
  })
  expect(await runtime.logs.read(engineId, 1)).toEqual([
    { at: new Date(at), line: "unknown model architecture: 'future'" },
  ])
})

test('stopEngine and release: true once all objects are deleted', async () => {
  await startEngine()
  expect(await runtime.stopEngine(engineId)).toBe(true)
  expect(await runtime.observeEngine(engineId)).toEqual({ phase: 'absent' })
  expect(await runtime.listEngineIds()).toEqual([engineId])
  expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
  expect(await runtime.release(engineId)).toBe(false)
  expect(await runtime.release(engineId)).toBe(true)
  expect(await runtime.listEngineIds()).toEqual([])
  for (const plural of ['deployments', 'pods', 'services', 'secrets', 'networkpolicies']) {
    expect(api.list(plural)).toEqual([])
  }
})

test('ensureEngine: an engine that is being stopped starts again only after its pods are deleted', async () => {
  await startEngine()
  api.holdsTerminatingPods = true
  expect(await runtime.stopEngine(engineId)).toBe(false)
  for (const each of [runtime, await openRuntime(api)]) {
    expect(await each.ensureEngine(spec)).toEqual({
      phase: 'starting',
      message: 'The engine is being stopped before it starts again.',
    })
  }
  expect(api.list('deployments')[0]?.['spec'].replicas).toBe(0)
  api.holdsTerminatingPods = false
  expect(await runtime.stopEngine(engineId)).toBe(true)
  expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
  expect(api.list('deployments')[0]?.['spec'].replicas).toBe(1)
  expect(api.list('pods')[0]?.['metadata'].deletionTimestamp).toBeUndefined()
})

test('stopEngine: removes the pod of a lost node', async () => {
  await startEngine()
  api.setPods({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' })
  expect(await runtime.observeEngine(engineId)).toMatchObject({ phase: 'failed', code: 'instance_lost' })
  await runtime.stopEngine(engineId)
  expect(api.list('pods')).toEqual([])
})

test.each([500, 401, 403, 404, 429])(
  'every call throws while the cluster answers %i, and recovers',
  async (status) => {
    await startEngine()
    api.failWith(status)
    for (const call of [
      () => runtime.provision(spec),
      () => runtime.ensureEngine(spec),
      () => runtime.observeEngine(engineId),
      () => runtime.stopEngine(engineId),
      () => runtime.release(engineId),
      () => runtime.listEngineIds(),
      () => runtime.logs.read(engineId, 1),
    ]) {
      await expect(call()).rejects.toThrow(String(status))
    }
    api.failWith(null)
    expect(await runtime.observeEngine(engineId)).toMatchObject({ phase: 'ready' })
  },
)
