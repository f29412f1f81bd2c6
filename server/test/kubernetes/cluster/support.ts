import { randomBytes, randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { vi } from 'vitest'
import { createKubernetesRuntime } from '../../../src/adapters/model-runtime/kubernetes/runtime.ts'
import type { KubernetesRuntimeSettings } from '../../../src/adapters/model-runtime/kubernetes/settings.ts'
import type {
  EngineObservation,
  EngineSpec,
  InstanceType,
  ModelRuntime,
  ProvisionResult,
} from '../../../src/ports/model-runtime.ts'
import { openTestCluster } from './cluster.ts'
import type { TestCluster } from './cluster.ts'
import { startKubelet } from './kubelet.ts'
import type { Kubelet } from './kubelet.ts'

/** A silent node is noticed after 50 seconds and cleared after 60 more, and the host may be busy. */
export const waitOptions = { timeout: 240_000, interval: 100 }

/** Path of the cluster's kubeconfig; the suite is skipped if undefined. */
export const adminKubeconfig = process.env['KUBECONFIG']

/** A namespace with a runtime, one node with 8 GPUs, and its kubelet. */
export interface TestBed {
  cluster: TestCluster
  kubelet: Kubelet
  node: string
  runtime: ModelRuntime
  open(changes?: Partial<KubernetesRuntimeSettings>): Promise<ModelRuntime>
  close(): Promise<void>
}

export async function openTestBed(): Promise<TestBed> {
  const cluster = await openTestCluster(adminKubeconfig ?? '')
  const kubelet = await startKubelet(cluster)
  const node = await cluster.addNode(8, kubelet.port)
  kubelet.nodes.push(node)
  const open: TestBed['open'] = (changes = {}) =>
    createKubernetesRuntime({
      namespace: cluster.namespace,
      kubeconfig: cluster.kubeconfig,
      catalogDirectory: tmpdir(),
      instanceTypes: makeInstanceTypes(cluster.namespace),
      gpusPerNode: 8,
      gpuMemoryShare: 0.9,
      images: { vllm: 'example/vllm:1', llamaCpp: 'example/llama.cpp:1' },
      modelCache: { kind: 'empty_dir', sizeLimit: null },
      engineAddress: kubelet.serviceUrl,
      capacityWaitMs: 1500,
      huggingFace: { endpoint: 'https://huggingface.co', token: 'hf_secret' },
      proxy: { http: null, https: null, exceptions: null },
      mediaDomains: [],
      privateNetworks: [],
      server: null,
      logger: { info() {}, warn() {} },
      ...changes,
    })
  return {
    cluster,
    kubelet,
    node,
    runtime: await open(),
    open,
    async close() {
      await kubelet.close()
      await cluster.close()
    },
  }
}

/** Instance types that select only the nodes of this test. */
export function makeInstanceTypes(namespace: string): InstanceType[] {
  return [1, 2, 8, 16].map((gpuCount) => ({
    name: `test-x${gpuCount}`,
    region: 'test-region',
    vendor: 'nvidia',
    gpuModel: 'NVIDIA L4',
    gpuCount,
    gpuMemoryBytes: 22 * 2 ** 30,
    computeCapability: 8.9,
    pricePerHour: '1',
    nodeSelector: { 'berth.dev/test': namespace },
    tolerations: [],
  }))
}

export function makeSpec(changes: Partial<EngineSpec> = {}): EngineSpec {
  const engineId = randomUUID()
  return {
    engineId,
    deploymentId: randomUUID(),
    modelUid: `dep-${engineId}`,
    servedModelName: `tiny-${engineId}`,
    apiKey: randomBytes(32).toString('base64url'),
    clusterId: null,
    variant: {
      modelName: 'tiny',
      modelType: 'LLM',
      format: 'ggufv2',
      sizeInBillions: 0.001,
      quantization: 'F16',
      contextLength: 2048,
      architecture: null,
      weightBytes: 1_100_000,
      weights: { kind: 'huggingface', repo: 'berth/tiny', revision: 'main', files: ['tiny.gguf'] },
      engines: {},
    },
    instanceType: 'test-x1',
    gpuCount: 1,
    memoryBytes: 2 ** 30,
    contextTokens: 512,
    parallelSequences: 2,
    ...changes,
  }
}

/** Calls `provision` until the result is final. */
export async function provision(runtime: ModelRuntime, spec: EngineSpec): Promise<ProvisionResult> {
  return vi.waitFor(async () => {
    const answer = await runtime.provision(spec)
    if (answer.outcome === 'pending') throw new Error(answer.message)
    return answer
  }, waitOptions)
}

/** Calls `observe` until the engine reaches a phase. */
export async function waitForPhase<Phase extends EngineObservation['phase']>(
  observe: () => Promise<EngineObservation>,
  phase: Phase,
): Promise<Extract<EngineObservation, { phase: Phase }>> {
  return vi.waitFor(async () => {
    const observation = await observe()
    if (observation.phase !== phase) throw new Error(`expected ${phase}, got ${JSON.stringify(observation)}`)
    return observation as Extract<EngineObservation, { phase: Phase }>
  }, waitOptions)
}

export async function startEngine(runtime: ModelRuntime, spec: EngineSpec) {
  const provisioned = await provision(runtime, spec)
  const ready = await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  return { provisioned, baseUrl: ready.endpoint.baseUrl }
}

export async function waitForRelease(runtime: ModelRuntime, engineId: string): Promise<void> {
  await vi.waitFor(async () => {
    if (!(await runtime.release(engineId))) throw new Error('not released yet')
  }, waitOptions)
}
