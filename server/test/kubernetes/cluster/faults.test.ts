import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { statusOf } from './kubelet.ts'
import type { PodScript } from './kubelet.ts'
import {
  adminKubeconfig,
  startEngine,
  makeInstanceTypes,
  makeSpec,
  openTestBed,
  waitOptions,
  provision,
  waitForPhase,
  waitForRelease,
} from './support.ts'
import type { TestBed } from './support.ts'

const waiting = (reason: string, message?: string) => ({ state: { waiting: { reason, message } } })
const ended = (exitCode: number, reason = 'Error') => ({
  exitCode,
  reason,
  startedAt: new Date().toISOString(),
  finishedAt: new Date().toISOString(),
})
const crashed = (exitCode: number) => ({
  restartCount: 2,
  ...waiting('CrashLoopBackOff', 'back-off 20s restarting failed container'),
  lastState: { terminated: ended(exitCode) },
})

describe.skipIf(adminKubeconfig === undefined)('faults on a real control plane', () => {
  let testBed: TestBed
  beforeAll(async () => {
    testBed = await openTestBed()
  })
  afterEach(async () => {
    testBed.kubelet.script(() => 'run')
    testBed.kubelet.logLines.length = 0
    for (const id of await testBed.runtime.listEngineIds()) await waitForRelease(testBed.runtime, id)
  })
  afterAll(() => testBed?.close())

  test('no node has enough free GPUs: refused with no_capacity after the wait; another type succeeds', async () => {
    const large = makeSpec({ instanceType: 'test-x8', gpuCount: 8 })
    await startEngine(testBed.runtime, large)
    const spec = makeSpec()
    expect(await testBed.runtime.provision(spec)).toMatchObject({ outcome: 'pending' })
    expect(await provision(testBed.runtime, spec)).toEqual({
      outcome: 'refused',
      code: 'no_capacity',
      message: expect.stringMatching(/^No node had capacity .* Insufficient nvidia\.com\/gpu[^:]*\.$/),
    })
    await waitForRelease(testBed.runtime, large.engineId)
    const other = { ...spec, instanceType: 'test-x2', gpuCount: 2 }
    expect(await provision(testBed.runtime, other)).toMatchObject({ outcome: 'provisioned' })
    await waitForPhase(() => testBed.runtime.ensureEngine(other), 'ready')
  })

  test('no node is of the type: refused with no_capacity', async () => {
    const runtime = await testBed.open({ instanceTypes: makeInstanceTypes('nowhere') })
    expect(await provision(runtime, makeSpec())).toMatchObject({
      code: 'no_capacity',
      message: expect.stringMatching(/node selector|node affinity/),
    })
  })

  test('the resource quota is exhausted: refused with quota_exceeded', async () => {
    const { core } = testBed.cluster.admin
    const { namespace } = testBed.cluster
    await core.createNamespacedResourceQuota({
      namespace,
      body: { metadata: { name: 'gpus' }, spec: { hard: { 'requests.nvidia.com/gpu': '1' } } },
    })
    await vi.waitFor(async () => {
      const quota = await core.readNamespacedResourceQuota({ name: 'gpus', namespace })
      expect(quota.status?.hard).toBeDefined()
    }, waitOptions)
    const spec = makeSpec({ instanceType: 'test-x2', gpuCount: 2 })
    const answer = await provision(testBed.runtime, spec)
    await core.deleteNamespacedResourceQuota({ name: 'gpus', namespace })
    expect(answer).toEqual({
      outcome: 'refused',
      code: 'quota_exceeded',
      message: expect.stringContaining('exceeded quota: gpus'),
    })
  })

  const faults: [string, Record<string, unknown>, string[], Record<string, unknown>][] = [
    [
      'an image that does not exist',
      waiting('ErrImagePull', 'manifest for example/llama.cpp:1 not found: manifest unknown'),
      [],
      {
        stage: 'engine_startup',
        code: 'provider_error',
        message: expect.stringContaining('example/llama.cpp:1'),
      },
    ],
    [
      'killed for using too much memory',
      { restartCount: 1, state: { terminated: ended(137, 'OOMKilled') } },
      [],
      { stage: 'runtime', code: 'out_of_memory' },
    ],
    [
      'a gated model',
      crashed(1),
      ['loading', 'huggingface_hub.errors.GatedRepoError: 401 Client Error.'],
      { stage: 'model_download', code: 'download_failed', message: expect.stringContaining('HF_TOKEN') },
    ],
    [
      "the GPU's memory",
      crashed(1),
      ['torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.', 'Engine core failed'],
      { stage: 'model_launch', code: 'out_of_memory', message: expect.stringContaining('2.00 GiB') },
    ],
    [
      'an unknown architecture',
      crashed(1),
      ["llama_model_load: error loading model: unknown model architecture: 'future'"],
      { stage: 'model_launch', code: 'launch_rejected' },
    ],
    [
      'a crash without a known reason',
      crashed(139),
      ['Segmentation fault'],
      {
        stage: 'model_launch',
        code: 'engine_crashed',
        message: 'The engine keeps crashing with exit code 139. Last log line: Segmentation fault.',
      },
    ],
  ]
  test.each(faults)('%s: reports stage, code and message', async (_name, container, lines, expected) => {
    const script: PodScript = (pod) => statusOf(pod, container)
    testBed.kubelet.script(script)
    testBed.kubelet.logLines.push(...lines)
    const spec = makeSpec()
    await vi.waitFor(async () => {
      expect(await testBed.runtime.provision(spec)).not.toMatchObject({ outcome: 'pending' })
    }, waitOptions)
    const seen = await waitForPhase(() => testBed.runtime.ensureEngine(spec), 'failed')
    expect(seen).toEqual({ phase: 'failed', message: expect.any(String), ...expected })
  })

  test('an evicted pod: instance_lost, even though the cluster creates another; a restart succeeds', async () => {
    const spec = makeSpec()
    await startEngine(testBed.runtime, spec)
    const { namespace, admin } = testBed.cluster
    const [pod] = (await admin.core.listNamespacedPod({ namespace })).items
    await testBed.cluster.patchPod(pod?.metadata?.name ?? '', {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on resource: ephemeral-storage.',
      conditions: [{ type: 'Ready', status: 'False' }],
    })
    testBed.kubelet.script(() => 'ignore')
    const seen = await waitForPhase(() => testBed.runtime.observeEngine(spec.engineId), 'failed')
    expect(seen).toMatchObject({
      code: 'instance_lost',
      message: expect.stringMatching(
        /evicted from node .*: The node was low on resource: ephemeral-storage\.$/,
      ),
    })
    testBed.kubelet.script(() => 'run')
    await restart(spec)
  })

  test('a node stops responding: instance_lost; the engine starts on another node', async () => {
    const node = await testBed.cluster.addNode(8, testBed.kubelet.port)
    const { core } = testBed.cluster.admin
    const cordon = (name: string, unschedulable: boolean) =>
      testBed.cluster.patchNodeSpec(name, { unschedulable })
    await cordon(testBed.node, true)
    testBed.kubelet.nodes.push(node)
    const spec = makeSpec()
    await startEngine(testBed.runtime, spec)
    testBed.kubelet.silentNodes.add(node)
    await cordon(testBed.node, false)
    await testBed.cluster.patchNodeSpec(node, { taints: [{ key: 'berth.dev/gone', effect: 'NoExecute' }] })
    const seen = await waitForPhase(() => testBed.runtime.observeEngine(spec.engineId), 'failed')
    expect(seen).toMatchObject({
      phase: 'failed',
      stage: 'runtime',
      code: 'instance_lost',
      // Newer clusters first report that they remove the pod.
      message: expect.stringMatching(
        new RegExp(`because node ${node} stopped responding|removed the engine's pod from node ${node}`),
      ),
    })
    await restart(spec)
    const [pod] = (await core.listNamespacedPod({ namespace: testBed.cluster.namespace })).items
    expect(pod?.spec?.nodeName).toBe(testBed.node)
    testBed.kubelet.silentNodes.delete(node)
  })

  async function restart(spec: ReturnType<typeof makeSpec>) {
    const { runtime } = testBed
    await vi.waitFor(async () => expect(await runtime.stopEngine(spec.engineId)).toBe(true), waitOptions)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(await runtime.observeEngine(spec.engineId)).toMatchObject({ phase: 'ready' })
  }
})
