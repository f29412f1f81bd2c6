import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  adminKubeconfig,
  startEngine,
  makeSpec,
  openTestBed,
  waitOptions,
  provision,
  waitForPhase,
  waitForRelease,
} from './support.ts'
import type { TestBed } from './support.ts'

describe.skipIf(adminKubeconfig === undefined)('engines on a real control plane', () => {
  let testBed: TestBed
  beforeAll(async () => {
    testBed = await openTestBed()
  })
  afterEach(async () => {
    testBed.kubelet.script(() => 'run')
    for (const id of await testBed.runtime.listEngineIds()) await waitForRelease(testBed.runtime, id)
  })
  afterAll(() => testBed?.close())

  test('an engine starts, requires its key, stops, starts again, and is released', async () => {
    const { runtime } = testBed
    const spec = makeSpec()
    const { provisioned, baseUrl } = await startEngine(runtime, spec)
    expect(provisioned).toMatchObject({
      outcome: 'provisioned',
      instance: {
        instanceId: expect.stringContaining(`dep-${spec.engineId}-`),
        clusterId: `kubernetes/${testBed.cluster.namespace}`,
        gpuAllocationId: `${testBed.node}: 1 x NVIDIA L4`,
        region: 'test-region',
      },
    })
    const ask = (key: string) =>
      fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: spec.servedModelName,
          messages: [{ role: 'user', content: 'Hi' }],
          max_tokens: 4,
        }),
      })
    expect((await ask(spec.apiKey)).status).toBe(200)
    expect((await ask('wrong')).status).toBe(401)
    expect(await runtime.listEngineIds()).toEqual([spec.engineId])

    await vi.waitFor(async () => expect(await runtime.stopEngine(spec.engineId)).toBe(true), waitOptions)
    expect(await runtime.observeEngine(spec.engineId)).toEqual({ phase: 'absent' })
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect((await ask(spec.apiKey)).status).toBe(200)

    await waitForRelease(runtime, spec.engineId)
    expect(await runtime.listEngineIds()).toEqual([])
    expect(await runtime.observeEngine(spec.engineId)).toEqual({ phase: 'absent' })
    const { core, apps } = testBed.cluster.admin
    const { namespace } = testBed.cluster
    const left = await Promise.all([
      apps.listNamespacedDeployment({ namespace }),
      apps.listNamespacedReplicaSet({ namespace }),
      core.listNamespacedPod({ namespace }),
      core.listNamespacedService({ namespace }),
      core.listNamespacedSecret({ namespace, labelSelector: 'app.kubernetes.io/managed-by=berth' }),
    ])
    expect(left.map(({ items }) => items.length)).toEqual([0, 0, 0, 0, 0])
  })

  test('an engine stopping on a silent node starts again only after its pods are deleted', async () => {
    const { runtime, kubelet, node, cluster } = testBed
    const spec = makeSpec()
    const { engineId } = spec
    await startEngine(runtime, spec)
    const readReplicas = async () => {
      const { namespace, admin } = cluster
      const found = await admin.apps.readNamespacedDeployment({ name: `dep-${engineId}`, namespace })
      return found.spec?.replicas
    }
    kubelet.silentNodes.add(node)
    expect(await runtime.stopEngine(engineId)).toBe(false)
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    expect(await readReplicas()).toBe(0)
    kubelet.silentNodes.delete(node)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(await readReplicas()).toBe(1)
  })

  test('applying the same spec again changes nothing, also from another process', async () => {
    const spec = makeSpec()
    await startEngine(testBed.runtime, spec)
    const read = async () => {
      const name = `dep-${spec.engineId}`
      const { namespace } = testBed.cluster
      const deployment = await testBed.cluster.admin.apps.readNamespacedDeployment({ name, namespace })
      const service = await testBed.cluster.admin.core.readNamespacedService({ name, namespace })
      const pods = await testBed.cluster.admin.core.listNamespacedPod({ namespace })
      return {
        generation: deployment.metadata?.generation,
        service: service.metadata?.resourceVersion,
        pods: pods.items.map(({ metadata }) => metadata?.uid),
      }
    }
    const before = await read()
    const others = await Promise.all([testBed.open(), testBed.open()])
    for (const other of others) {
      expect(await other.provision(spec)).toMatchObject({ outcome: 'provisioned' })
      expect(await other.ensureEngine(spec)).toMatchObject({ phase: 'ready' })
    }
    expect(await read()).toEqual(before)
  })

  test('a workload deleted by someone else is absent, and is created again', async () => {
    const spec = makeSpec()
    await startEngine(testBed.runtime, spec)
    const { namespace, admin } = testBed.cluster
    await admin.apps.deleteNamespacedDeployment({ name: `dep-${spec.engineId}`, namespace })
    await waitForPhase(() => testBed.runtime.observeEngine(spec.engineId), 'absent')
    await waitForPhase(() => testBed.runtime.ensureEngine(spec), 'ready')
    await vi.waitFor(async () => {
      const secrets = await admin.core.listNamespacedSecret({
        namespace,
        labelSelector: `berth.dev/instance-id=${spec.engineId}`,
      })
      expect(secrets.items).toHaveLength(1)
    }, waitOptions)
  })

  test('the workload owns all objects, all are labeled, and the pod has no cluster token', async () => {
    const spec = makeSpec()
    await provision(testBed.runtime, spec)
    const { namespace, admin } = testBed.cluster
    const name = `dep-${spec.engineId}`
    const deployment = await admin.apps.readNamespacedDeployment({ name, namespace })
    const dependents = [
      await admin.core.readNamespacedSecret({ name, namespace }),
      await admin.core.readNamespacedService({ name, namespace }),
      await admin.objects.read({
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name, namespace },
      }),
    ]
    for (const { metadata } of dependents) {
      expect(metadata?.ownerReferences?.[0]?.uid).toBe(deployment.metadata?.uid)
      expect(metadata?.labels).toMatchObject({
        'app.kubernetes.io/managed-by': 'berth',
        'berth.dev/instance-id': spec.engineId,
      })
    }
    const [pod] = (await admin.core.listNamespacedPod({ namespace })).items
    expect(pod?.spec?.automountServiceAccountToken).toBe(false)
    expect(pod?.spec?.volumes?.map(({ name }) => name)).toEqual(['temporary', 'cache'])
    expect(JSON.stringify(pod)).not.toContain(spec.apiKey)
    expect(JSON.stringify(pod)).not.toContain('hf_secret')
  })

  test('logs can be read and followed', async () => {
    const spec = makeSpec()
    await startEngine(testBed.runtime, spec)
    const lines = await testBed.runtime.logs.read(spec.engineId, 3)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.at(-1)?.line).toMatch(/ready in/)
    expect(lines.at(-1)?.at.getTime()).toBeGreaterThan(Date.now() - 60_000)
    const stop = new AbortController()
    const followed: string[] = []
    const following = (async () => {
      for await (const { line } of testBed.runtime.logs.follow(spec.engineId, 1, stop.signal)) {
        followed.push(line)
      }
    })()
    await vi.waitFor(() => expect(followed[0]).toMatch(/ready in/), waitOptions)
    await vi.waitFor(async () => {
      testBed.kubelet.appendLog(spec.engineId, 'a new line')
      expect(followed).toContain('a new line')
    }, waitOptions)
    stop.abort()
    await following
    expect(await testBed.runtime.logs.read(makeSpec().engineId, 5)).toEqual([])
  })

  test('an unknown deployment is absent, and its release is confirmed at once', async () => {
    const { engineId } = makeSpec()
    expect(await testBed.runtime.observeEngine(engineId)).toEqual({ phase: 'absent' })
    expect(await testBed.runtime.stopEngine(engineId)).toBe(true)
    expect(await testBed.runtime.release(engineId)).toBe(true)
    await expect(testBed.runtime.release('../secrets')).rejects.toThrow(RangeError)
  })
})
