import type { EngineSpec } from '../../../ports/model-runtime.ts'
import type { LoraServing, RuntimeEngine } from '../../../ports/runtime-engine.ts'
import { llamaCppArchitectures } from './architectures.ts'
import { llamaCppOptions, toEngineOptions } from './engine-options.ts'
import { engineRoutes, ignoredFields } from './engine-routes.ts'
import { toArguments } from './to-arguments.ts'

/** One process of `llama-server`. */
export interface LlamaServerLaunch {
  spec: EngineSpec
  /** The options that name the weights, such as `{ model: '/path/model.gguf' }` */
  source: Record<string, string>
  /** The options that name the projector, such as `{ mmproj: '/path/mmproj.gguf' }`; null for none */
  projector: Record<string, string> | null
  /** Paths of the LoRAs; none where the runtime serves none */
  loras?: readonly string[] | undefined
  host: string
  port: number
  /** Layers on the GPU; 0 runs on the CPU */
  gpuLayers: number
  /** Devices that llama-server must use, such as `CUDA0`, or it fails; undefined for any, or the CPU */
  devices?: readonly string[] | undefined
  /** Threads on the CPU; undefined for llama-server's default */
  threads?: number | undefined
  /** Host memory for states of idle conversations, in MiB */
  promptCacheMebibytes: number
}

/** LoRAs, where the runtime gives them to llama-server. It batches requests with different ones apart. */
export const llamaCppLoras = {
  format: 'lora-gguf',
  selectedBy: 'list',
  // Build 11669 drops `lora` from messages.
  deafRoutes: ['messages'],
} as const satisfies LoraServing

/** llama.cpp of unknown version. */
export const llamaCpp = {
  name: 'llama.cpp',
  title: 'llama.cpp',
  formats: ['ggufv2'],
  architectures: llamaCppArchitectures,
  profile: 'llamaCpp',
  sizing: 'per-slot',
  images: 'projector',
  counts: {
    inEvents: 'timings',
    afterAbort: 'none',
    totals: {
      input: ['llamacpp:prompt_tokens_total', 'llamacpp:prompt_tokens_cached_total'],
      output: ['llamacpp:tokens_predicted_total'],
    },
  },
  routes: engineRoutes.llamaCpp,
  ignoredFields: ignoredFields.llamaCpp,
  options: llamaCppOptions,
  // As build 11549 does
  chatForm: { schemas: 'some keywords', namesTools: false, callsWithSchema: false },
  // Build 11669 drops `cache_prompt` from messages.
  cacheSeparation: { by: 'off', deafRoutes: ['messages'] },
  version: null,
  versionPrefix: 'b',
} as const satisfies RuntimeEngine

/** Builds the arguments of `llama-server`, for build b9128 and later. The key comes from `LLAMA_API_KEY`. */
export function buildLlamaServerArguments(launch: LlamaServerLaunch): string[] {
  const { spec, projector, loras = [] } = launch
  const { modelType } = spec.variant
  const isChat = modelType === 'LLM'
  const { chatTemplate, options } = spec.variant.engines.llamaCpp ?? {}
  // llama.cpp reads a text in one batch to embed or rank it, so a batch must hold a full context.
  const batch = isChat ? undefined : spec.contextTokens
  return toArguments({
    ...launch.source,
    ...(projector ?? { 'no-mmproj': true }),
    ...(loras.length === 0 ? {} : { lora: loras.join(','), 'lora-init-without-apply': true }),
    // llama-server accepts every name.
    alias: spec.servedModelName,
    // llama.cpp divides the context among its slots.
    'ctx-size': spec.contextTokens * spec.parallelSequences,
    parallel: spec.parallelSequences,
    'n-gpu-layers': launch.gpuLayers,
    device: launch.devices?.join(','),
    threads: launch.threads,
    host: launch.host,
    port: launch.port,
    metrics: true,
    embeddings: !isChat,
    pooling: modelType === 'rerank' ? 'rank' : undefined,
    'batch-size': batch,
    'ubatch-size': batch,
    // Build 11669 gives a request the states that another LoRA computed for the same prompt.
    'cache-ram': loras.length === 0 ? launch.promptCacheMebibytes : 0,
    jinja: isChat,
    'reasoning-format': isChat ? 'deepseek' : undefined,
    'chat-template': isChat ? chatTemplate : undefined,
    ...options,
    ...toEngineOptions(llamaCppOptions, spec.engineOptions),
  })
}
