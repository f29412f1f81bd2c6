import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { V1Pod } from '@kubernetes/client-node'
import { configureServer } from '../kubernetes/nodes/server.ts'
import { openNodeTestBed, setGpus } from '../kubernetes/nodes/support.ts'
import type { NodeTestBed } from '../kubernetes/nodes/support.ts'
import { waitUntil } from '../support/process.ts'
import { slowPace } from './components.ts'
import type { Backend, Component } from './components.ts'
import { pickFrom } from './load.ts'

const startTimeoutMs = 120_000
const idLabel = 'berth.dev/instance-id'

/** A namespace on the real nodes of the cluster `KUBECONFIG`. */
export async function openKubernetesBackend(cleanup: AsyncDisposableStack): Promise<Backend> {
  const testBed = await openNodeTestBed()
  cleanup.defer(() => testBed.close())
  const { cluster, nodes } = testBed
  const folder = await mkdtemp(join(tmpdir(), 'berth-kubernetes-backend-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const settings = await configureServer(testBed, folder)
  const keeping = setInterval(() => void keepGpus(testBed).catch(() => {}), 2_000)
  cleanup.defer(() => clearInterval(keeping))
  const listPods = async () =>
    (await cluster.admin.core.listNamespacedPod({ namespace: cluster.namespace })).items

  /** Kills processes of the pod of a random engine, as soon as there is one. */
  const killInPod = async (random: () => number, what: string, script: (uid: string) => string) => {
    let pod: V1Pod | undefined
    const findPod = async () => {
      pod = pickFrom(random, (await listPods()).filter(isServing))
      return pod !== undefined
    }
    await waitUntil(findPod, startTimeoutMs, 'an engine to serve')
    const { name = '', uid = '' } = pod?.metadata ?? {}
    await testBed.runOnNode(pod?.spec?.nodeName ?? '', script(uid))
    return `${what} of ${name} on ${pod?.spec?.nodeName}`
  }
  const inPod = (uid: string) =>
    `for p in /proc/[0-9]*; do grep -q '${uid}' $p/cgroup 2>/dev/null && echo "\${p#/proc/} $(cat $p/comm)"; done`
  const engine: Component = {
    name: 'engine process',
    carriesEngines: true,
    killAndRestart: (random) =>
      killInPod(
        random,
        'the engine',
        (uid) => `${inPod(uid)} | awk '/llama-server/ {print $1}' | xargs -r kill -KILL`,
      ),
  }
  const enginePod: Component = {
    name: 'engine pod',
    carriesEngines: true,
    killAndRestart: (random) =>
      killInPod(random, 'all processes', (uid) => `${inPod(uid)} | awk '{print $1}' | xargs -r kill -KILL`),
  }
  const kubelet: Component = {
    name: 'kubelet',
    // Engines don't need it to serve.
    carriesEngines: false,
    async killAndRestart(random) {
      const used = (await listPods()).flatMap(({ spec }) => spec?.nodeName ?? [])
      const node = pickFrom(random, used.length > 0 ? used : nodes) ?? ''
      // The node starts it again.
      await testBed.runOnNode(node, 'pkill -KILL -x kubelet')
      return `the kubelet of ${node}`
    },
  }

  return {
    settings,
    components: [engine, enginePod, kubelet],
    // Each engine takes a node.
    pace: { ...slowPace, live: 1 },
    // The cluster reports whole seconds, and a release is checked every five seconds at most.
    toleranceMs: 8_000,
    async observe() {
      return (await listPods()).filter(isHeld).map((pod) => ({
        engineId: pod.metadata?.labels?.[idLabel] ?? '',
        isServing: isServing(pod),
      }))
    },
    listRemains: () => listRemains(testBed),
  }
}

/** A restarted kubelet reports no GPUs. */
async function keepGpus({ cluster, nodes }: NodeTestBed): Promise<void> {
  const { core } = cluster.admin
  for (const { metadata, status } of (await core.listNode()).items) {
    const name = metadata?.name ?? ''
    if (nodes.includes(name) && status?.allocatable?.['nvidia.com/gpu'] !== '8') await setGpus(core, name)
  }
}

function isHeld({ spec, status }: V1Pod): boolean {
  return spec?.nodeName !== undefined && (status?.phase === 'Pending' || status?.phase === 'Running')
}

function isServing({ metadata, status }: V1Pod): boolean {
  const isReady = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
  return isReady && metadata?.deletionTimestamp === undefined
}

/** Deployments with any object of Berth in the namespace. */
async function listRemains({ cluster }: NodeTestBed): Promise<string[]> {
  const { core, apps } = cluster.admin
  const query = { namespace: cluster.namespace, labelSelector: idLabel }
  const lists = await Promise.all([
    core.listNamespacedPod(query),
    core.listNamespacedService(query),
    core.listNamespacedSecret(query),
    core.listNamespacedConfigMap(query),
    core.listNamespacedPersistentVolumeClaim(query),
    apps.listNamespacedDeployment(query),
    apps.listNamespacedReplicaSet(query),
    apps.listNamespacedStatefulSet(query),
  ])
  const ids = lists.flatMap(({ items }) =>
    items.map(({ metadata }) => metadata?.labels?.[idLabel] ?? metadata?.name ?? ''),
  )
  return [...new Set(ids)]
}
