import { readFile, rm, writeFile } from 'node:fs/promises'
import type { ApiException } from '@kubernetes/client-node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { adminKubeconfig, startEngine, makeSpec, openTestBed, provision, waitForRelease } from './support.ts'
import type { TestBed } from './support.ts'

describe.skipIf(adminKubeconfig === undefined)('permissions on a real control plane', () => {
  let testBed: TestBed
  beforeAll(async () => {
    testBed = await openTestBed()
  })
  afterEach(async () => {
    for (const id of await testBed.runtime.listEngineIds()) await waitForRelease(testBed.runtime, id)
  })
  afterAll(() => testBed?.close())

  test("the role can't read secrets, nodes or other namespaces", async () => {
    const { berth, namespace, admin } = testBed.cluster
    const spec = makeSpec()
    await provision(testBed.runtime, spec)
    const name = `dep-${spec.engineId}`
    expect(await admin.core.readNamespacedSecret({ name, namespace })).toBeDefined()
    for (const attempt of [
      () => berth.readNamespacedSecret({ name, namespace }),
      () => berth.listNamespacedSecret({ namespace }),
      () => berth.listNode(),
      () => berth.listNamespacedPod({ namespace: 'default' }),
      () => berth.listPodForAllNamespaces(),
      () => berth.createNamespacedPod({ namespace, body: {} }),
      () => berth.deleteNamespace({ name: namespace }),
    ]) {
      const code = await attempt().then(
        () => 200,
        (error: ApiException<unknown>) => error.code,
      )
      expect(code).toBe(403)
    }
  })

  test('an invalid token throws instead of reporting an engine as gone', async () => {
    const text = (await readFile(testBed.cluster.kubeconfig, 'utf8')).replace(/(token"?: ?"?)\w/, '$1x')
    const kubeconfig = `${testBed.cluster.kubeconfig}.bad`
    await writeFile(kubeconfig, text)
    const runtime = await testBed.open({ kubeconfig })
    await expect(runtime.observeEngine(makeSpec().engineId)).rejects.toThrow(/401|Unauthorized/)
    await expect(runtime.release(makeSpec().engineId)).rejects.toThrow(/401|Unauthorized/)
    await rm(kubeconfig)
  })

  test('objects in other namespaces or without our label are neither listed nor released', async () => {
    const { admin, namespace } = testBed.cluster
    const spec = makeSpec()
    await startEngine(testBed.runtime, spec)
    const metadata = {
      name: `dep-${spec.engineId}`,
      labels: { 'app.kubernetes.io/managed-by': 'berth', 'berth.dev/instance-id': spec.engineId },
    }
    await admin.core.createNamespacedService({
      namespace: 'default',
      body: { metadata, spec: { ports: [{ port: 1 }] } },
    })
    await admin.core.createNamespacedService({
      namespace,
      body: {
        metadata: { name: 'foreign', labels: { 'berth.dev/instance-id': makeSpec().engineId } },
        spec: { ports: [{ port: 1 }] },
      },
    })
    expect(await testBed.runtime.listEngineIds()).toEqual([spec.engineId])
    await waitForRelease(testBed.runtime, spec.engineId)
    const theirs = await admin.core.readNamespacedService({ name: metadata.name, namespace: 'default' })
    expect(theirs.metadata?.deletionTimestamp).toBeUndefined()
    await admin.core.deleteNamespacedService({ name: metadata.name, namespace: 'default' })
    expect(await admin.core.readNamespacedService({ name: 'foreign', namespace })).toBeDefined()
  })

  test('more GPUs than a node has: refused without LeaderWorkerSet, created with it', async () => {
    const spec = makeSpec({ instanceType: 'test-x16', gpuCount: 16 })
    spec.variant.format = 'pytorch'
    const { objects } = testBed.cluster.admin
    const definition = parse(leaderWorkerSets)
    const isInstalled = await objects.read(definition).then(
      () => true,
      () => false,
    )
    if (!isInstalled) {
      expect(await testBed.runtime.provision(spec)).toEqual({
        outcome: 'refused',
        code: 'no_capacity',
        message: expect.stringContaining('install LeaderWorkerSet'),
      })
      await objects.create(definition)
    }
    try {
      await expect.poll(async () => (await testBed.runtime.provision(spec)).outcome).toBe('pending')
      const found = await objects.read<{ metadata: object; spec: Record<string, any> }>({
        apiVersion: 'leaderworkerset.x-k8s.io/v1',
        kind: 'LeaderWorkerSet',
        metadata: { name: `dep-${spec.engineId}`, namespace: testBed.cluster.namespace },
      })
      const { size, workerTemplate, leaderTemplate } = found.spec['leaderWorkerTemplate']
      expect(size).toBe(2)
      expect(workerTemplate.spec.containers[0].resources.limits).toEqual({ 'nvidia.com/gpu': '8' })
      expect(leaderTemplate.spec.containers[0].args).toEqual(
        expect.arrayContaining(['--tensor-parallel-size', '8', '--pipeline-parallel-size', '2']),
      )
      expect(await testBed.runtime.listEngineIds()).toEqual([spec.engineId])
      await waitForRelease(testBed.runtime, spec.engineId)
      expect(await testBed.runtime.listEngineIds()).toEqual([])
    } finally {
      if (!isInstalled) await objects.delete(definition)
    }
  })
})

/** The part of the LeaderWorkerSet definition that the API server needs, in the client's spelling. */
const leaderWorkerSets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: leaderworkersets.leaderworkerset.x-k8s.io
  annotations: { api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/lws" }
spec:
  group: leaderworkerset.x-k8s.io
  scope: Namespaced
  names: { kind: LeaderWorkerSet, plural: leaderworkersets, singular: leaderworkerset }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: { spec: { type: object, x_kubernetes_preserve_unknown_fields: true } }
`
