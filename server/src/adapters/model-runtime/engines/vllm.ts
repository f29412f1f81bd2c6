import type { EngineSpec } from '../../../ports/model-runtime.ts'
import type { LoraServing, RuntimeEngine } from '../../../ports/runtime-engine.ts'
import { vllmArchitectures } from './architectures.ts'
import { toEngineOptions, vllmOptions } from './engine-options.ts'
import { engineRoutes, ignoredFields } from './engine-routes.ts'
import { listModelNames } from './model-names.ts'
import { toArguments } from './to-arguments.ts'

/** One process of `vllm serve`. */
export interface VllmLaunch {
  spec: EngineSpec
  /** A Hugging Face repository, or a folder with the weights */
  model: string
  /** Revision of the repository; undefined for a folder */
  revision?: string | undefined
  /** Folders of the LoRAs of the spec, in its order; none where the runtime serves none */
  loras?: readonly string[] | undefined
  host: string
  port: number
  /** GPUs of this node */
  gpus: number
  /** NVIDIA's compute capability; null when unknown */
  computeCapability: number | null
  /** The share of each GPU's memory that vLLM may use, above 0 and at most 1 */
  memoryShare: number
  /** Hosts that vLLM may fetch media from */
  mediaDomains: readonly string[]
  /** This process's place among several nodes; the one with rank 0 serves. Undefined for a single node. */
  node?: { count: number; rank: string; leaderAddress: string; isWorker: boolean } | undefined
}

/** LoRAs of vLLM, where the runtime gives them to it. */
export const vllmLoras = {
  format: 'lora-peft',
  selectedBy: 'name',
  ranks: [8, 16, 32, 64, 128, 256, 320, 512],
} as const satisfies LoraServing

/** vLLM of unknown version. */
export const vllm = {
  name: 'vllm',
  title: 'vLLM',
  formats: ['pytorch', 'awq', 'gptq', 'fp8', 'fp4', 'compressed'],
  architectures: vllmArchitectures,
  profile: 'vllm',
  sizing: 'shared-cache',
  images: 'native',
  counts: {
    inEvents: 'usage',
    afterAbort: 'tokenize',
    totals: { input: ['vllm:prompt_tokens_total'], output: ['vllm:generation_tokens_total'] },
  },
  routes: engineRoutes.vllm,
  ignoredFields: ignoredFields.vllm,
  options: vllmOptions,
  chatForm: { schemas: 'all keywords', namesTools: true, callsWithSchema: true },
  // 0.32.0 drops `cache_salt` from messages.
  cacheSeparation: { by: 'salt', spansEngines: true, deafRoutes: ['messages'] },
  version: null,
  versionPrefix: '',
} as const satisfies RuntimeEngine

/** Builds the arguments of `vllm serve`, for vLLM 0.14 and later. The key comes from `VLLM_API_KEY`. */
export function buildVllmArguments(launch: VllmLaunch): string[] {
  const { spec, model, revision, computeCapability, node } = launch
  const { variant } = spec
  const { toolParser, reasoningParser, chatTemplate, options } = variant.engines.vllm ?? {}
  // GPUs before Ampere lack bfloat16, the default of most checkpoints.
  const isOldGpu = computeCapability !== null && computeCapability < 8
  const isChat = variant.modelType === 'LLM'
  const ofType = !isChat
    ? // For a model that ranks, the template makes one text of a query and a document.
      { runner: 'pooling', 'chat-template': variant.modelType === 'rerank' ? chatTemplate : undefined }
    : {
        'enable-auto-tool-choice': toolParser !== undefined,
        'tool-call-parser': toolParser,
        'reasoning-parser': reasoningParser,
        'chat-template': chatTemplate,
        // Otherwise the usage does not tell cached tokens.
        'enable-prompt-tokens-details': true,
      }
  const arguments_ = toArguments({
    revision,
    // The tokenizer may come from another repository, which doesn't have this commit.
    'tokenizer-revision': options?.['tokenizer'] === undefined ? revision : undefined,
    // Answers have the first name.
    'served-model-name': listModelNames(spec),
    host: launch.host,
    port: launch.port,
    'max-model-len': spec.contextTokens,
    'max-num-seqs': spec.parallelSequences,
    'tensor-parallel-size': launch.gpus,
    ...(node === undefined
      ? {}
      : {
          'pipeline-parallel-size': node.count,
          nnodes: node.count,
          'node-rank': node.rank,
          'master-addr': node.leaderAddress,
          headless: node.isWorker,
        }),
    'gpu-memory-utilization': launch.memoryShare,
    // Without a domain vLLM would allow all of them.
    'allowed-media-domains': launch.mediaDomains.length === 0 ? ['none.invalid'] : launch.mediaDomains,
    ...toLoraOptions(spec, launch.loras ?? []),
    dtype: isOldGpu ? 'half' : undefined,
    quantization: quantizesOnLoad(spec, model) ? 'fp8' : undefined,
    ...ofType,
    ...options,
    ...toEngineOptions(vllmOptions, spec.engineOptions),
  })
  return [model, ...arguments_]
}

/** vLLM has room for all LoRAs in one batch. Requests name them by their ids. */
function toLoraOptions({ loras = [], gpuCount }: EngineSpec, folders: readonly string[]) {
  if (folders.length === 0) return {}
  // On the CPU, 0.32.0 applies the last LoRA to requests without one in mixed batches: keep that place empty.
  const places = gpuCount > 0 ? folders.length : folders.length + 1
  const largest = Math.max(...loras.map(({ rank }) => rank))
  return {
    'enable-lora': true,
    'max-loras': places,
    'max-lora-rank': vllmLoras.ranks.find((rank) => rank >= largest),
    'lora-modules': loras.map(({ modelId }, index) => `${modelId}=${folders[index]}`),
  }
}

/** vLLM detects the method of a quantized checkpoint itself, and rejects a different one. */
function quantizesOnLoad({ variant }: EngineSpec, model: string): boolean {
  const source = variant.weights.kind === 'huggingface' ? variant.weights.repo : model
  return (
    variant.format === 'fp8' &&
    !/fp8/i.test(source) &&
    variant.engines.vllm?.options?.['quantization'] === undefined
  )
}
