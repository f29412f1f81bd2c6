import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  adminKubeconfig,
  bringUp,
  makeSpec,
  openStage,
  patient,
  provision,
  waitForPhase,
  waitForRelease,
} from './support.ts'
import type { Stage } from './support.ts'

describe.skipIf(adminKubeconfig === undefined)('engines on a real control plane', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage()
  })
  afterEach(async () => {
    stage.kubelet.script(() => 'run')
    for (const id of await stage.runtime.listDeploymentIds()) await waitForRelease(stage.runtime, id)
  })
  afterAll(() => stage?.close())

  test('an engine is started, answers only with its key, is stopped, started again and released', async () => {
    const { runtime } = stage
    const spec = makeSpec()
    const { provisioned, baseUrl } = await bringUp(runtime, spec)
    expect(provisioned).toMatchObject({
      outcome: 'provisioned',
      instance: {
        instanceId: expect.stringContaining(`dep-${spec.deploymentId}-`),
        clusterId: `kubernetes/${stage.cluster.namespace}`,
        gpuAllocationId: `${stage.node}: 1 x NVIDIA L4`,
        region: 'test-region',
      },
    })
    const ask = (key: string) =>
      fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: spec.modelUid,
          messages: [{ role: 'user', content: 'Hi' }],
          max_tokens: 4,
        }),
      })
    expect((await ask(spec.apiKey)).status).toBe(200)
    expect((await ask('wrong')).status).toBe(401)
    expect(await runtime.listDeploymentIds()).toEqual([spec.deploymentId])

    await vi.waitFor(async () => expect(await runtime.stopEngine(spec.deploymentId)).toBe(true), patient)
    expect(await runtime.observeEngine(spec.deploymentId)).toEqual({ phase: 'absent' })
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect((await ask(spec.apiKey)).status).toBe(200)

    await waitForRelease(runtime, spec.deploymentId)
    expect(await runtime.listDeploymentIds()).toEqual([])
    expect(await runtime.observeEngine(spec.deploymentId)).toEqual({ phase: 'absent' })
    const { core, apps } = stage.cluster.admin
    const { namespace } = stage.cluster
    const left = await Promise.all([
      apps.listNamespacedDeployment({ namespace }),
      apps.listNamespacedReplicaSet({ namespace }),
      core.listNamespacedPod({ namespace }),
      core.listNamespacedService({ namespace }),
      core.listNamespacedSecret({ namespace, labelSelector: 'app.kubernetes.io/managed-by=berth' }),
    ])
    expect(left.map(({ items }) => items.length)).toEqual([0, 0, 0, 0, 0])
  })

  test('one that is being stopped on a node that does not answer is not asked for anew before it is gone', async () => {
    const { runtime, kubelet, node, cluster } = stage
    const spec = makeSpec()
    const { deploymentId } = spec
    await bringUp(runtime, spec)
    const readReplicas = async () => {
      const { namespace, admin } = cluster
      const found = await admin.apps.readNamespacedDeployment({ name: `dep-${deploymentId}`, namespace })
      return found.spec?.replicas
    }
    kubelet.dead.add(node)
    expect(await runtime.stopEngine(deploymentId)).toBe(false)
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    expect(await readReplicas()).toBe(0)
    kubelet.dead.delete(node)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(await readReplicas()).toBe(1)
  })

  test('applying the same again, by another process too, changes nothing', async () => {
    const spec = makeSpec()
    await bringUp(stage.runtime, spec)
    const read = async () => {
      const name = `dep-${spec.deploymentId}`
      const { namespace } = stage.cluster
      const deployment = await stage.cluster.admin.apps.readNamespacedDeployment({ name, namespace })
      const service = await stage.cluster.admin.core.readNamespacedService({ name, namespace })
      const pods = await stage.cluster.admin.core.listNamespacedPod({ namespace })
      return {
        generation: deployment.metadata?.generation,
        service: service.metadata?.resourceVersion,
        pods: pods.items.map(({ metadata }) => metadata?.uid),
      }
    }
    const before = await read()
    const others = await Promise.all([stage.open(), stage.open()])
    for (const other of others) {
      expect(await other.provision(spec)).toMatchObject({ outcome: 'provisioned' })
      expect(await other.ensureEngine(spec)).toMatchObject({ phase: 'ready' })
    }
    expect(await read()).toEqual(before)
  })

  test('what was deleted by somebody is found absent and made anew', async () => {
    const spec = makeSpec()
    await bringUp(stage.runtime, spec)
    const { namespace, admin } = stage.cluster
    await admin.apps.deleteNamespacedDeployment({ name: `dep-${spec.deploymentId}`, namespace })
    await waitForPhase(() => stage.runtime.observeEngine(spec.deploymentId), 'absent')
    await waitForPhase(() => stage.runtime.ensureEngine(spec), 'ready')
    await vi.waitFor(async () => {
      const secrets = await admin.core.listNamespacedSecret({
        namespace,
        labelSelector: `berth.dev/deployment-id=${spec.deploymentId}`,
      })
      expect(secrets.items).toHaveLength(1)
    }, patient)
  })

  test('everything belongs to the workload, is labelled, and grants the engine nothing', async () => {
    const spec = makeSpec()
    await provision(stage.runtime, spec)
    const { namespace, admin } = stage.cluster
    const name = `dep-${spec.deploymentId}`
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
        'berth.dev/deployment-id': spec.deploymentId,
      })
    }
    const [pod] = (await admin.core.listNamespacedPod({ namespace })).items
    expect(pod?.spec?.automountServiceAccountToken).toBe(false)
    expect(pod?.spec?.volumes?.map(({ name }) => name)).toEqual(['temporary', 'cache'])
    expect(JSON.stringify(pod)).not.toContain(spec.apiKey)
    expect(JSON.stringify(pod)).not.toContain('hf_secret')
  })

  test('its log is read and followed', async () => {
    const spec = makeSpec()
    await bringUp(stage.runtime, spec)
    const lines = await stage.runtime.readLogs(spec.deploymentId, 3)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.at(-1)?.line).toMatch(/ready after/)
    expect(lines.at(-1)?.at.getTime()).toBeGreaterThan(Date.now() - 60_000)
    const stop = new AbortController()
    const followed: string[] = []
    const following = (async () => {
      for await (const { line } of stage.runtime.followLogs(spec.deploymentId, stop.signal)) {
        followed.push(line)
      }
    })()
    await vi.waitFor(async () => {
      stage.kubelet.say(spec.deploymentId, 'a new line')
      expect(followed).toContain('a new line')
    }, patient)
    stop.abort()
    await following
    expect(await stage.runtime.readLogs(makeSpec().deploymentId, 5)).toEqual([])
  })

  test('it is unknown, and released at once, where it never was', async () => {
    const { deploymentId } = makeSpec()
    expect(await stage.runtime.observeEngine(deploymentId)).toEqual({ phase: 'absent' })
    expect(await stage.runtime.stopEngine(deploymentId)).toBe(true)
    expect(await stage.runtime.release(deploymentId)).toBe(true)
    await expect(stage.runtime.release('../secrets')).rejects.toThrow(RangeError)
  })
})
