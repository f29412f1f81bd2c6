import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import type { KubernetesObject } from '@kubernetes/client-node'
import { readManifests } from '../../support/manifests.ts'

/**
 * A temporary namespace in the cluster of `KUBECONFIG`, with the worker's service account from
 * `deploy/kubernetes`.
 */
export interface TestCluster {
  namespace: string
  /** Clients with all permissions */
  admin: { core: CoreV1Api; apps: AppsV1Api; objects: KubernetesObjectApi }
  /** Path of a kubeconfig for the service account */
  kubeconfig: string
  /** A client with the permissions of the service account */
  berth: CoreV1Api
  /** Adds a node that only this test's pods select, with a kubelet at `kubeletPort`. */
  addNode(gpus: number, kubeletPort: number): Promise<string>
  /** Patches the status of a pod, as a kubelet does. */
  patchPod(name: string, status: Record<string, unknown>): Promise<void>
  patchNode(name: string, status: Record<string, unknown>): Promise<void>
  /** Taints or cordons a node. */
  patchNodeSpec(name: string, spec: Record<string, unknown>): Promise<void>
  close(): Promise<void>
}

const serviceAccount = 'berth-worker'
const asMergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)

export async function openTestCluster(adminKubeconfig: string): Promise<TestCluster> {
  const config = new KubeConfig()
  config.loadFromFile(adminKubeconfig)
  const server = config.getCurrentCluster()?.server ?? ''
  const core = config.makeApiClient(CoreV1Api)
  const apps = config.makeApiClient(AppsV1Api)
  const objects = KubernetesObjectApi.makeApiClient(config)
  const namespace = `berth-test-${randomBytes(4).toString('hex')}`
  await core.createNamespace({ body: { metadata: { name: namespace } } })
  await applyShippedRoles(objects, namespace)
  const token = await core.createNamespacedServiceAccountToken({
    name: serviceAccount,
    namespace,
    body: { spec: { audiences: [], expirationSeconds: 3600 } },
  })
  const kubeconfig = join(tmpdir(), `${namespace}.kubeconfig`)
  const berthConfig = new KubeConfig()
  berthConfig.loadFromOptions({
    clusters: [{ name: 'test', server, skipTLSVerify: true }],
    users: [{ name: serviceAccount, token: token.status?.token }],
    contexts: [{ name: 'test', cluster: 'test', user: serviceAccount }],
    currentContext: 'test',
  })
  await writeFile(kubeconfig, berthConfig.exportConfig(), { mode: 0o600 })
  const nodes: string[] = []
  const patchNode: TestCluster['patchNode'] = async (name, status) => {
    await core.patchNodeStatus({ name, body: { status } }, asMergePatch)
  }

  return {
    namespace,
    admin: { core, apps, objects },
    kubeconfig,
    berth: berthConfig.makeApiClient(CoreV1Api),
    async addNode(gpus, kubeletPort) {
      const name = `${namespace}-${randomBytes(3).toString('hex')}`
      nodes.push(name)
      await core.createNode({ body: { metadata: { name, labels: { 'berth.dev/test': namespace } } } })
      const resources = { cpu: '64', memory: '512Gi', pods: '110', 'nvidia.com/gpu': String(gpus) }
      const capacity = { ...resources, 'ephemeral-storage': '500Gi' }
      await patchNode(name, {
        capacity,
        allocatable: capacity,
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
        conditions: [nodeReady()],
      })
      return name
    },
    patchNode,
    async patchNodeSpec(name, spec) {
      await core.patchNode({ name, body: { spec } }, asMergePatch)
    },
    async patchPod(name, status) {
      await core.patchNamespacedPodStatus({ name, namespace, body: { status } }, asMergePatch)
    },
    async close() {
      for (const name of nodes) await core.deleteNode({ name }).catch(() => {})
      await core.deleteNamespace({ name: namespace })
      await rm(kubeconfig, { force: true })
    },
  }
}

/** The heartbeat condition of a node. Kubernetes marks the node as lost without it. */
export function nodeReady(): Record<string, unknown> {
  const now = new Date().toISOString()
  return {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }
}

async function applyShippedRoles(objects: KubernetesObjectApi, namespace: string): Promise<void> {
  const kinds = ['ServiceAccount', 'Role', 'RoleBinding']
  const shipped = readManifests().filter(({ kind }) => kinds.includes(kind))
  for (const object of shipped as (KubernetesObject & { subjects?: { namespace?: string }[] })[]) {
    for (const subject of object.subjects ?? []) subject.namespace = namespace
    Object.assign(object.metadata ?? {}, { namespace })
    await objects.create(object)
  }
}
