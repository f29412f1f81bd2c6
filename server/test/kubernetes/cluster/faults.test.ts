import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { statusOf } from './kubelet.ts'
import type { PodScript } from './kubelet.ts'
import {
  adminKubeconfig,
  bringUp,
  makeInstanceTypes,
  makeSpec,
  openStage,
  patient,
  provision,
  waitForPhase,
  waitForRelease,
} from './support.ts'
import type { Stage } from './support.ts'

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
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage()
  })
  afterEach(async () => {
    stage.kubelet.script(() => 'run')
    stage.kubelet.logLines.length = 0
    for (const id of await stage.runtime.listDeploymentIds()) await waitForRelease(stage.runtime, id)
  })
  afterAll(() => stage?.close())

  test('no node has enough free GPUs: refused with no_capacity after the wait, and another type is tried', async () => {
    const large = makeSpec({ instanceType: 'test-x8', gpuCount: 8 })
    await bringUp(stage.runtime, large)
    const spec = makeSpec()
    expect(await stage.runtime.provision(spec)).toMatchObject({ outcome: 'pending' })
    expect(await provision(stage.runtime, spec)).toEqual({
      outcome: 'refused',
      code: 'no_capacity',
      message: expect.stringMatching(/^No node had room .* Insufficient nvidia\.com\/gpu\.$/),
    })
    await waitForRelease(stage.runtime, large.deploymentId)
    const other = { ...spec, instanceType: 'test-x2', gpuCount: 2 }
    expect(await provision(stage.runtime, other)).toMatchObject({ outcome: 'provisioned' })
    await waitForPhase(() => stage.runtime.ensureEngine(other), 'ready')
  })

  test('no node is of the type: refused with no_capacity', async () => {
    const runtime = await stage.open({ instanceTypes: makeInstanceTypes('nowhere') })
    expect(await provision(runtime, makeSpec())).toMatchObject({
      code: 'no_capacity',
      message: expect.stringMatching(/node selector|node affinity/),
    })
  })

  test("the namespace's quota is used up: refused with quota_exceeded", async () => {
    const { core } = stage.cluster.admin
    const { namespace } = stage.cluster
    await core.createNamespacedResourceQuota({
      namespace,
      body: { metadata: { name: 'gpus' }, spec: { hard: { 'requests.nvidia.com/gpu': '1' } } },
    })
    await vi.waitFor(async () => {
      const quota = await core.readNamespacedResourceQuota({ name: 'gpus', namespace })
      expect(quota.status?.hard).toBeDefined()
    }, patient)
    const spec = makeSpec({ instanceType: 'test-x2', gpuCount: 2 })
    const answer = await provision(stage.runtime, spec)
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
      'killed for want of memory',
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
        message: 'The engine keeps ending with exit code 139; it last said: Segmentation fault',
      },
    ],
  ]
  test.each(faults)('%s: the right stage, code and sentence', async (_name, container, lines, expected) => {
    const script: PodScript = (pod) => statusOf(pod, container)
    stage.kubelet.script(script)
    stage.kubelet.logLines.push(...lines)
    const spec = makeSpec()
    await vi.waitFor(async () => {
      expect(await stage.runtime.provision(spec)).not.toMatchObject({ outcome: 'pending' })
    }, patient)
    const seen = await waitForPhase(() => stage.runtime.ensureEngine(spec), 'failed')
    expect(seen).toEqual({ phase: 'failed', message: expect.any(String), ...expected })
  })

  test('an evicted pod: instance_lost, though the cluster made another; stopped and started again it is ready', async () => {
    const spec = makeSpec()
    await bringUp(stage.runtime, spec)
    const { namespace, admin } = stage.cluster
    const [pod] = (await admin.core.listNamespacedPod({ namespace })).items
    await stage.cluster.patchPod(pod?.metadata?.name ?? '', {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on resource: ephemeral-storage.',
      conditions: [{ type: 'Ready', status: 'False' }],
    })
    stage.kubelet.script(() => 'leave')
    const seen = await waitForPhase(() => stage.runtime.observeEngine(spec.deploymentId), 'failed')
    expect(seen).toMatchObject({
      code: 'instance_lost',
      message: expect.stringMatching(
        /evicted from node .*: The node was low on resource: ephemeral-storage\.$/,
      ),
    })
    stage.kubelet.script(() => 'run')
    await restart(spec)
  })

  test('a node that no longer answers: instance_lost; the engine starts on another node', async () => {
    const node = await stage.cluster.addNode(8, stage.kubelet.port)
    const { core } = stage.cluster.admin
    const cordon = (name: string, unschedulable: boolean) =>
      stage.cluster.patchNodeSpec(name, { unschedulable })
    await cordon(stage.node, true)
    stage.kubelet.nodes.push(node)
    const spec = makeSpec()
    await bringUp(stage.runtime, spec)
    stage.kubelet.dead.add(node)
    await cordon(stage.node, false)
    await stage.cluster.patchNodeSpec(node, { taints: [{ key: 'berth.dev/gone', effect: 'NoExecute' }] })
    const seen = await waitForPhase(() => stage.runtime.observeEngine(spec.deploymentId), 'failed')
    expect(seen).toEqual({
      phase: 'failed',
      stage: 'runtime',
      code: 'instance_lost',
      message: `The engine was lost with node ${node}, which no longer answers.`,
    })
    await restart(spec)
    const [pod] = (await core.listNamespacedPod({ namespace: stage.cluster.namespace })).items
    expect(pod?.spec?.nodeName).toBe(stage.node)
    stage.kubelet.dead.delete(node)
  })

  async function restart(spec: ReturnType<typeof makeSpec>) {
    const { runtime } = stage
    await vi.waitFor(async () => expect(await runtime.stopEngine(spec.deploymentId)).toBe(true), patient)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(await runtime.observeEngine(spec.deploymentId)).toMatchObject({ phase: 'ready' })
  }
})
