import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { KubeConfig, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node'
import type { V1Pod } from '@kubernetes/client-node'
import { createKubernetesRuntime } from '../../../src/adapters/model-runtime/kubernetes/runtime.ts'
import type { KubernetesRuntimeSettings } from '../../../src/adapters/model-runtime/kubernetes/settings.ts'
import type { EngineSpec, ModelRuntime } from '../../../src/ports/model-runtime.ts'
import { withWarmUp } from '../../../src/adapters/model-runtime/warm-up.ts'
import { mainProtocols } from '../../../src/features/inference/protocols/protocols.ts'
import { openTestCluster } from '../cluster/cluster.ts'
import type { TestCluster } from '../cluster/cluster.ts'
import { makeInstanceTypes, makeSpec } from '../cluster/support.ts'
import { startServiceProxy } from './service-proxy.ts'
import type { ServiceProxy } from './service-proxy.ts'
import { startWeightServer } from './weight-server.ts'
import type { WeightServer } from './weight-server.ts'

const run = promisify(execFile)
const asMergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)

/**
 * Command that runs a program on a node, in which `{node}` is the node's name. The suite is skipped without
 * it.
 */
export const nodeCommand = process.env['TEST_NODE_COMMAND']
/** An image on all nodes with llama-server as its entrypoint. */
export const engineImage = process.env['TEST_ENGINE_IMAGE'] ?? ''
export const catalogDirectory = resolve(import.meta.dirname, '../../../../catalog')

/** A namespace on a cluster with real nodes. Only the GPU counts of the nodes are simulated. */
export interface NodeTestBed {
  cluster: TestCluster
  nodes: string[]
  proxy: ServiceProxy
  weights: WeightServer
  /** Settings of the runtime for this cluster */
  settings: KubernetesRuntimeSettings
  runtime: ModelRuntime
  open(changes?: Partial<KubernetesRuntimeSettings>): Promise<ModelRuntime>
  /** Runs a shell command on a node as root. */
  runOnNode(node: string, script: string): Promise<string>
  /** The deployment's newest pod that is not being deleted */
  findPod(engineId: string): Promise<V1Pod>
  close(): Promise<void>
}

export async function openNodeTestBed(): Promise<NodeTestBed> {
  const kubeconfig = process.env['KUBECONFIG'] ?? ''
  const cluster = await openTestCluster(kubeconfig)
  const { core } = cluster.admin
  const nodes: string[] = []
  for (const { metadata, status } of (await core.listNode()).items) {
    const name = metadata?.name ?? ''
    if (status?.nodeInfo?.kubeletVersion === '') continue
    nodes.push(name)
    await core.patchNode(
      { name, body: { metadata: { labels: { 'berth.dev/test': cluster.namespace } } } },
      asMergePatch,
    )
    await setGpus(core, name)
  }
  const host = new URL(readServer(kubeconfig)).hostname
  const weights = await startWeightServer(host)
  const proxy = await startServiceProxy(cluster)
  const settings: KubernetesRuntimeSettings = {
    namespace: cluster.namespace,
    kubeconfig: cluster.kubeconfig,
    catalogDirectory,
    instanceTypes: makeInstanceTypes(cluster.namespace),
    gpusPerNode: 8,
    gpuMemoryShare: 0.9,
    images: { vllm: 'example/vllm:1', llamaCpp: engineImage },
    modelCache: { kind: 'empty_dir', sizeLimit: '64Mi' },
    engineAddress: proxy.serviceUrl,
    capacityWaitMs: 60_000,
    huggingFace: { endpoint: weights.url, token: 'hf_secret' },
    proxy: { http: null, https: null, exceptions: null },
    mediaDomains: [],
    privateNetworks: [],
    server: null,
    logger: { info() {}, warn() {} },
  }
  const open: NodeTestBed['open'] = async (changes = {}) =>
    withWarmUp(await createKubernetesRuntime({ ...settings, ...changes }), mainProtocols)
  return {
    cluster,
    nodes,
    proxy,
    weights,
    settings,
    runtime: await open(),
    open,
    async runOnNode(node, script) {
      const [program = '', ...args] = (nodeCommand ?? '').replaceAll('{node}', node).split(' ')
      const { stdout } = await run(program, [...args, 'sh', '-c', script])
      return stdout
    },
    async findPod(engineId) {
      const { items } = await core.listNamespacedPod({
        namespace: cluster.namespace,
        labelSelector: `berth.dev/instance-id=${engineId}`,
      })
      const [pod] = items
        .filter(
          ({ metadata, status }) => metadata?.deletionTimestamp === undefined && status?.phase === 'Running',
        )
        .toSorted((one, other) => createdAt(other) - createdAt(one))
      if (pod === undefined) throw new Error('The deployment has no running pod.')
      return pod
    },
    async close() {
      await cluster.close()
      await proxy.close()
      await weights.close()
    },
  }
}

/** Gives a node 8 GPUs, as a device plugin does after each start of the kubelet. */
export async function setGpus(core: TestCluster['admin']['core'], name: string): Promise<void> {
  const gpus = { 'nvidia.com/gpu': '8' }
  await core.patchNodeStatus({ name, body: { status: { capacity: gpus, allocatable: gpus } } }, asMergePatch)
}

/** Stops a node without a word to the cluster: its kubelet, its container runtime, and every engine on it. */
export const freeze = 'pkill -STOP -x kubelet; pkill -STOP containerd; pkill -STOP -x llama-server'
export const thaw = 'pkill -CONT -x llama-server; pkill -CONT containerd; pkill -CONT -x kubelet'

/** A spec whose weights are the bundled model, copied to the pod. */
export function makeFileSpec(changes: Partial<EngineSpec['variant']> = {}): EngineSpec {
  const spec = makeSpec()
  const weights = { kind: 'file', path: 'weights/berth-tiny.gguf' } as const
  return { ...spec, variant: { ...spec.variant, weights, ...changes } }
}

/** Sends a chat to an engine. */
export function sendChat(
  baseUrl: string,
  spec: EngineSpec,
  body: Record<string, unknown> = {},
  key = spec.apiKey,
) {
  return fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: spec.modelUid,
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 8,
      ...body,
    }),
  })
}

function createdAt({ metadata }: V1Pod): number {
  return metadata?.creationTimestamp?.getTime() ?? 0
}

function readServer(kubeconfig: string): string {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  return config.getCurrentCluster()?.server ?? ''
}
