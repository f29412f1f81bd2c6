/** What is known about an engine that a runtime runs. */

import type { LoraFormat } from './model-variant.ts'

/**
 * How an engine divides its memory among requests. `per-slot`: every sequence reserves its whole context, and
 * each GPU holds whole layers, as in llama.cpp. `shared-cache`: sequences share a paged cache, and all GPUs
 * hold a part of every layer, as in vLLM.
 */
export type EngineSizing = 'per-slot' | 'shared-cache'

/** How an engine counts the tokens of a request that is not complete. */
export interface TokenCounts {
  /**
   * What events of a stream hold if the request asks for it. `usage`: the usage so far, with
   * `stream_options.continuous_usage_stats`, as in vLLM. `timings`: `timings` or `prompt_progress`, with
   * `timings_per_token` and `return_progress`, as in llama-server.
   */
  inEvents: 'usage' | 'timings' | 'none'
  /**
   * How to learn the tokens of an aborted request that sent no count. `tokenize`: `POST /tokenize` counts
   * those of its prompt, or `/v1/messages/count_tokens` those of messages, as in vLLM. `report`: `GET
   * /v1/requests/{x-request-id}/usage` answers with its usage.
   */
  afterAbort: 'tokenize' | 'report' | 'none'
  /**
   * Counters in `GET /metrics` that add up to the tokens of all requests since the engine started; absent if
   * it has none
   */
  totals?: { input: readonly string[]; output: readonly string[] }
}

/**
 * A route that not every engine has. `tokenize` is vLLM's `/tokenize`, which takes a prompt or messages;
 * `tokenize_content` is that of llama-server, which takes a text.
 */
export type EngineRoute =
  | 'completions'
  | 'responses'
  | 'messages'
  | 'count_tokens'
  | 'rerank'
  | 'tokenize'
  | 'tokenize_content'

/**
 * The routes of an engine next to chat completions and embeddings, each with the oldest version that has it;
 * null for every version.
 */
export type EngineRoutes = Readonly<Partial<Record<EngineRoute, string | null>>>

/** Fields of requests that change what an answer means. Not every engine honors them. */
export const meaningfulFields = [
  'audio',
  'echo',
  'guided_choice',
  'guided_grammar',
  'guided_json',
  'guided_regex',
  'min_tokens',
  'modalities',
  'structured_outputs',
  'suffix',
] as const
export type MeaningfulField = (typeof meaningfulFields)[number]

/**
 * The fields that an engine ignores without a word, each with the oldest version that does; null for every
 * version.
 */
export type IgnoredFields = Readonly<Partial<Record<MeaningfulField, string | null>>>

/** How an engine serves LoRAs. */
export interface LoraServing {
  format: LoraFormat
  /**
   * How a request selects a LoRA. `name`: by its id in place of the model's name, as in vLLM. `list`: by
   * a member `lora` with the scale of each LoRA of the engine, as in llama-server.
   */
  selectedBy: 'name' | 'list'
  /** Routes on which requests can't select one; absent for none */
  deafRoutes?: readonly EngineRoute[]
  /**
   * The ranks for which the engine has room, in order: every LoRA takes as much as the one of the largest
   * rank, rounded up to one of these. Without a GPU there is an empty place besides. Absent if a LoRA of
   * any rank takes what its files have.
   */
  ranks?: readonly number[]
}

/** An engine that a runtime runs. */
export interface RuntimeEngine {
  /**
   * Names the engine in the API, such as `vllm`; null if the runtime doesn't say which engine serves a model
   */
  name: string | null
  /** Names the engine in sentences, such as `vLLM` */
  title: string
  /** The weight formats that the runtime gives to this engine */
  formats: readonly string[]
  /**
   * The architectures that the engine has itself, as the weight files of its formats name them; absent if
   * unknown
   */
  architectures?: readonly string[]
  /** The key of this engine in `EngineProfiles` */
  profile: string
  sizing: EngineSizing
  /** How the engine accepts images: `projector` if the profile of the model must name one */
  images: 'native' | 'projector' | 'none'
  counts: TokenCounts
  routes: EngineRoutes
  /** Absent if the engine refuses what it doesn't honor, or if nobody knows */
  ignoredFields?: IgnoredFields
  /** Absent if the engine serves no LoRAs on this runtime */
  loras?: LoraServing
  /** Whether requests may have a `cache_salt`: only requests with the same one share cached prefixes */
  saltsCache: boolean
  /** `0.28.0` for vLLM, `10964` for build b10964 of llama.cpp; null when unknown */
  version: string | null
  /** What the engine's releases have before the version, such as `b` */
  versionPrefix: string
}

/** The context length per request, and the number of requests processed at the same time. */
export interface ServingCapacity {
  contextTokens: number
  parallelSequences: number
}
