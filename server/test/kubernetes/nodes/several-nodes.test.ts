import type { V1Endpoint, V1Pod } from '@kubernetes/client-node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createKubernetesRuntime } from '../../../src/adapters/model-runtime/kubernetes/runtime.ts'
import type { EngineSpec, ModelRuntime } from '../../../src/ports/model-runtime.ts'
import {
  makeSpec,
  provision,
  startEngine,
  waitForPhase,
  waitForRelease,
  waitOptions,
} from '../cluster/support.ts'
import { nodeCommand, openNodeTestBed } from './support.ts'
import type { NodeTestBed } from './support.ts'

/** An image with vllm-stand-in.sh as `vllm`, on nodes of a cluster with LeaderWorkerSet */
const image = process.env['TEST_LWS_IMAGE']

describe.skipIf(nodeCommand === undefined || image === undefined)('an engine on several nodes', () => {
  let testBed: NodeTestBed
  let runtime: ModelRuntime
  beforeAll(async () => {
    testBed = await openNodeTestBed()
    const { settings } = testBed
    const images = { ...settings.images, vllm: image ?? '' }
    runtime = await createKubernetesRuntime({ ...settings, gpusPerNode: 1, images })
  })
  afterEach(async () => {
    for (const id of await runtime.listEngineIds()) await waitForRelease(runtime, id)
  })
  afterAll(() => testBed?.close())

  function makeGroupSpec(): EngineSpec {
    const spec = makeSpec({ instanceType: 'test-x2', gpuCount: 2 })
    return { ...spec, variant: { ...spec.variant, format: 'pytorch' } }
  }

  /** The pods of a deployment, the leader first. */
  async function listPods({ engineId }: EngineSpec): Promise<V1Pod[]> {
    const { items } = await testBed.cluster.admin.core.listNamespacedPod({
      namespace: testBed.cluster.namespace,
      labelSelector: `berth.dev/instance-id=${engineId}`,
    })
    return items.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
  }
  const nameOf = ({ metadata }: V1Pod) => metadata?.name ?? ''
  const uidsOf = (pods: V1Pod[]) => pods.map(({ metadata }) => metadata?.uid)

  test('the pods find each other, the leader serves, and a release deletes everything', async () => {
    const { namespace, admin } = testBed.cluster
    const spec = makeGroupSpec()
    const name = `dep-${spec.engineId}`
    const { provisioned, baseUrl } = await startEngine(runtime, spec)
    expect(provisioned).toMatchObject({
      outcome: 'provisioned',
      instance: { instanceId: `${name}-0`, gpuAllocationId: expect.stringMatching(/: 2 x NVIDIA L4$/) },
    })
    expect((await fetch(`${baseUrl}/health`)).status).toBe(200)
    const pods = await listPods(spec)
    expect(pods.map(nameOf)).toEqual([`${name}-0`, `${name}-0-1`])
    const leaderAddress = `${name}-0.${name}-0.${namespace}`
    for (const [rank, pod] of pods.entries()) {
      const log = await admin.core.readNamespacedPodLog({ name: nameOf(pod), namespace })
      expect(log).toContain('--tensor-parallel-size 1 --pipeline-parallel-size 2 --nnodes 2')
      expect(log).toContain(`--node-rank ${rank} --master-addr ${leaderAddress}`)
      expect(log.includes('--headless')).toBe(rank > 0)
      expect(log).toContain('LWS_GROUP_SIZE=2\n')
    }
    // Only a headless Service gives its pods names in DNS.
    const service = await admin.core.readNamespacedService({ name: `${name}-0`, namespace })
    expect(service.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
    const slices = await admin.objects.list<{ metadata: object; endpoints: V1Endpoint[] } & object>(
      'discovery.k8s.io/v1',
      'EndpointSlice',
      namespace,
    )
    const hostnames = slices.items.flatMap(({ endpoints }) =>
      endpoints.flatMap(({ hostname }) => hostname ?? []),
    )
    expect(hostnames.toSorted((one, other) => one.localeCompare(other))).toEqual(pods.map(nameOf))
    const lines = await runtime.logs.read(spec.engineId, 50)
    expect(lines.map(({ line }) => line).join('\n')).toContain('--node-rank 0')

    await vi.waitFor(async () => expect(await runtime.stopEngine(spec.engineId)).toBe(true), waitOptions)
    expect(await listPods(spec)).toEqual([])
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')

    await waitForRelease(runtime, spec.engineId)
    for (const [apiVersion, kind] of [
      ['v1', 'Pod'],
      ['v1', 'Service'],
      ['v1', 'Secret'],
      ['apps/v1', 'StatefulSet'],
      ['leaderworkerset.x-k8s.io/v1', 'LeaderWorkerSet'],
    ] as const) {
      expect((await admin.objects.list(apiVersion, kind, namespace)).items).toEqual([])
    }
  })

  test('a killed worker restarts the leader too', async () => {
    const spec = makeGroupSpec()
    await startEngine(runtime, spec)
    const before = await listPods(spec)
    await testBed.runOnNode(before[1]?.spec?.nodeName ?? '', "pkill -KILL -f '[-]-headless'")
    await waitForPhase(() => runtime.observeEngine(spec.engineId), 'starting')
    // The kubelet may restart the worker before LeaderWorkerSet replaces the group.
    await vi.waitFor(async () => {
      const after = await listPods(spec)
      expect(after.map(nameOf)).toEqual(before.map(nameOf))
      expect(uidsOf(after).filter((uid) => uidsOf(before).includes(uid))).toEqual([])
    }, waitOptions)
    await waitForPhase(() => runtime.observeEngine(spec.engineId), 'ready')
  })

  test('a quota that has room for the leader alone refuses the deployment', async () => {
    const { namespace, admin } = testBed.cluster
    const name = 'one-gpu'
    await admin.core.createNamespacedResourceQuota({
      namespace,
      body: { metadata: { name }, spec: { hard: { 'requests.nvidia.com/gpu': '1' } } },
    })
    const result = await provision(runtime, makeGroupSpec())
    await admin.core.deleteNamespacedResourceQuota({ name, namespace })
    expect(result).toMatchObject({
      outcome: 'refused',
      code: 'quota_exceeded',
      message: expect.stringMatching(/requests\.nvidia\.com\/gpu=1/),
    })
  })
})
