import { fileURLToPath } from 'node:url'
import { createKubernetesRuntime } from '../../src/adapters/model-runtime/kubernetes/runtime.ts'
import type { EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import type { KubernetesApi } from './api-double.ts'

/** Opens a runtime on the double of a cluster, with one type of instance. */
export function openRuntime(api: Pick<KubernetesApi, 'kubeconfig'>): Promise<ModelRuntime> {
  return createKubernetesRuntime({
    namespace: 'berth',
    kubeconfig: api.kubeconfig,
    catalogDirectory: fileURLToPath(new URL('../../../catalog', import.meta.url)),
    instanceTypes: [
      {
        name: 'l4-x1',
        region: 'eu',
        vendor: 'nvidia',
        gpuModel: 'NVIDIA L4',
        gpuCount: 1,
        gpuMemoryBytes: 20 * 2 ** 30,
        computeCapability: 8.9,
        pricePerHour: '1',
        nodeSelector: {},
        tolerations: [],
      },
    ],
    gpusPerNode: 8,
    gpuMemoryShare: 0.9,
    images: { vllm: 'vllm:1', llamaCpp: 'llama.cpp:1' },
    modelCache: { kind: 'empty_dir', sizeLimit: null },
    engineAddress: 'http://{service}.{namespace}.svc:8000',
    capacityWaitMs: 60_000,
    huggingFace: { endpoint: 'https://huggingface.co', token: null },
    proxy: { http: null, https: null, exceptions: null },
    mediaDomains: [],
    privateNetworks: [],
    server: { url: 'http://berth.berth.svc', port: 8080 },
    logger: { info() {}, warn() {} },
  })
}

/** A spec for the bundled type of instance. */
export function makeSpec(engineId: string): EngineSpec {
  return {
    engineId,
    deploymentId: '01a1f829-f5d2-744f-b788-baaa79e8fa27',
    modelUid: 'dep-1',
    servedModelName: 'm',
    apiKey: 'secret',
    clusterId: null,
    variant: {
      modelName: 'm',
      modelType: 'LLM',
      format: 'ggufv2',
      sizeInBillions: 1,
      quantization: 'Q8_0',
      contextLength: 2048,
      architecture: null,
      weightBytes: null,
      weights: { kind: 'huggingface', repo: 'o/m', revision: 'main', files: ['m.gguf'] },
      engines: {},
    },
    instanceType: 'l4-x1',
    gpuCount: 1,
    memoryBytes: 1,
    contextTokens: 512,
    parallelSequences: 1,
  }
}
