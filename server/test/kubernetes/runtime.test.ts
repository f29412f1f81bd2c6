import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createKubernetesRuntime } from '../../src/adapters/model-runtime/kubernetes/runtime.ts'
import type { EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import { startKubernetesApi } from './api-double.ts'
import type { KubernetesApi } from './api-double.ts'

let api: KubernetesApi
let runtime: ModelRuntime
beforeEach(async () => {
  api = await startKubernetesApi()
  runtime = await open()
})
afterEach(() => api.close())

const open = () =>
  createKubernetesRuntime({
    namespace: 'berth',
    kubeconfig: api.kubeconfig,
    region: 'eu',
    instanceTypes: [
      {
        name: 'l4-x1',
        region: 'here',
        vendor: 'nvidia',
        gpuModel: 'NVIDIA L4',
        gpuCount: 1,
        gpuMemoryBytes: 20 * 2 ** 30,
        computeCapability: 8.9,
        pricePerHour: '1',
        nodeSelector: {},
        tolerations: [],
      },
    ],
    gpusPerNode: 8,
    images: { vllm: 'vllm:1', llamaCpp: 'llama.cpp:1' },
    modelCache: { kind: 'empty_dir', sizeLimit: null },
    engineAddress: 'http://{service}.{namespace}.svc:8000',
    capacityWaitMs: 60_000,
    huggingFace: { endpoint: 'https://huggingface.co', token: null },
    proxy: { http: null, https: null, exceptions: null },
    logger: { info() {}, warn() {} },
  })

const deploymentId = randomUUID()
const spec: EngineSpec = {
  deploymentId,
  modelUid: 'm',
  apiKey: 'secret',
  clusterId: null,
  variant: {
    modelName: 'm',
    modelType: 'LLM',
    format: 'ggufv2',
    sizeInBillions: 1,
    quantization: 'Q8_0',
    contextLength: 2048,
    architecture: null,
    weightBytes: null,
    weights: { kind: 'huggingface', repo: 'o/m', revision: 'main', files: ['m.gguf'] },
  },
  instanceType: 'l4-x1',
  gpuCount: 1,
  memoryBytes: 1,
  contextTokens: 512,
  parallelSequences: 1,
}
const at = new Date().toISOString()
const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: at }
const ready = { phase: 'Running', conditions: [scheduled, { type: 'Ready', status: 'True' }] }

async function bringUp() {
  await runtime.provision(spec)
  api.setPods(ready)
  expect(await runtime.ensureEngine(spec)).toEqual({
    phase: 'ready',
    endpoint: { baseUrl: `http://dep-${deploymentId}.berth.svc:8000` },
  })
}

test('listOffers: 90 % of the memory of each type, in the region of the settings', async () => {
  expect(await runtime.listOffers()).toEqual([
    expect.objectContaining({ instanceType: 'l4-x1', region: 'eu', memoryBytes: 18 * 2 ** 30 }),
  ])
})

test('provision: pending until the pod has a node, whose clock starts then', async () => {
  expect(await runtime.provision(spec)).toMatchObject({ outcome: 'pending' })
  api.setPods({ conditions: [scheduled] })
  expect(await runtime.provision(spec)).toMatchObject({
    outcome: 'provisioned',
    instance: { startedAt: new Date(at), region: 'eu', gpuAllocationId: 'node-1: 1 x NVIDIA L4' },
  })
  expect(await runtime.provision({ ...spec, instanceType: 'h100-x8' })).toMatchObject({
    outcome: 'refused',
    message: 'This cluster has no instance type h100-x8.',
  })
})

test('provision: a process that died between two objects is finished by the next', async () => {
  await runtime.provision(spec)
  const names = ['secrets', 'services', 'networkpolicies']
  expect(names.map((plural) => api.list(plural).length)).toEqual([1, 1, 1])
  const whole = api.list('services')[0]
  api.requests.length = 0
  await runtime.provision(spec)
  expect(api.requests.filter((request) => request.startsWith('PATCH'))).toEqual([])
  await (await open()).provision(spec)
  expect(api.requests.filter((request) => request.startsWith('PATCH'))).toHaveLength(4)
  expect(api.list('services')[0]?.['spec']).toEqual(whole?.['spec'])
  expect(api.list('pods')).toHaveLength(1)
})

test('observeEngine: one request for an engine that is ready', async () => {
  await bringUp()
  api.requests.length = 0
  expect(await runtime.observeEngine(deploymentId)).toMatchObject({ phase: 'ready' })
  expect(api.requests).toEqual([`GET /apis/apps/v1/namespaces/berth/deployments/dep-${deploymentId}`])
})

test('observeEngine: the last words of an engine that keeps ending', async () => {
  await bringUp()
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
  expect(await runtime.observeEngine(deploymentId)).toMatchObject({
    phase: 'failed',
    code: 'launch_rejected',
  })
  expect(await runtime.readLogs(deploymentId, 1)).toEqual([
    { at: new Date(at), line: "unknown model architecture: 'future'" },
  ])
})

test('stopEngine and release: confirmed once nothing is left', async () => {
  await bringUp()
  expect(await runtime.stopEngine(deploymentId)).toBe(true)
  expect(await runtime.observeEngine(deploymentId)).toEqual({ phase: 'absent' })
  expect(await runtime.listDeploymentIds()).toEqual([deploymentId])
  expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
  expect(await runtime.release(deploymentId)).toBe(false)
  expect(await runtime.release(deploymentId)).toBe(true)
  expect(await runtime.listDeploymentIds()).toEqual([])
  for (const plural of ['deployments', 'pods', 'services', 'secrets', 'networkpolicies']) {
    expect(api.list(plural)).toEqual([])
  }
})

test('ensureEngine: one that is being stopped is asked for again only when its pods are gone', async () => {
  await bringUp()
  api.keepsPods = true
  expect(await runtime.stopEngine(deploymentId)).toBe(false)
  for (const each of [runtime, await open()]) {
    expect(await each.ensureEngine(spec)).toEqual({
      phase: 'starting',
      message: 'The engine is being ended, to be started again.',
    })
  }
  expect(api.list('deployments')[0]?.['spec'].replicas).toBe(0)
  api.keepsPods = false
  expect(await runtime.stopEngine(deploymentId)).toBe(true)
  expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
  expect(api.list('deployments')[0]?.['spec'].replicas).toBe(1)
  expect(api.list('pods')[0]?.['metadata'].deletionTimestamp).toBeUndefined()
})

test('a pod that a lost node can not confirm is removed with its deployment', async () => {
  await bringUp()
  api.setPods({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' })
  expect(await runtime.observeEngine(deploymentId)).toMatchObject({ phase: 'failed', code: 'instance_lost' })
  await runtime.stopEngine(deploymentId)
  expect(api.list('pods')).toEqual([])
})

test.each([500, 401, 403, 404, 429])(
  'a cluster that answers %i is a passing fault of every call',
  async (status) => {
    await bringUp()
    api.failWith(status)
    for (const call of [
      () => runtime.provision(spec),
      () => runtime.ensureEngine(spec),
      () => runtime.observeEngine(deploymentId),
      () => runtime.stopEngine(deploymentId),
      () => runtime.release(deploymentId),
      () => runtime.listDeploymentIds(),
      () => runtime.readLogs(deploymentId, 1),
    ]) {
      await expect(call()).rejects.toThrow(String(status))
    }
    api.failWith(null)
    expect(await runtime.observeEngine(deploymentId)).toMatchObject({ phase: 'ready' })
  },
)
