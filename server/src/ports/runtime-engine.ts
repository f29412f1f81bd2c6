/** What is known about an engine that a runtime runs. */

import type { LoraFormat } from './model-variant.ts'

/**
 * How requests share memory. `per-slot` (llama.cpp): each sequence reserves its context, and GPUs hold whole
 * layers. `shared-cache` (vLLM): sequences share a paged cache, and GPUs a part of every layer.
 */
export type EngineSizing = 'per-slot' | 'shared-cache'

/** How an engine counts the tokens of a request that is not complete. */
export interface TokenCounts {
  /**
   * What events hold on request: `usage`, with `stream_options.continuous_usage_stats` (vLLM), or `timings`
   * or `prompt_progress`, with `timings_per_token` and `return_progress` (llama-server).
   */
  inEvents: 'usage' | 'timings' | 'none'
  /**
   * For aborted requests that sent no count. `tokenize`: `POST /tokenize` for prompts,
   * `/v1/messages/count_tokens` for messages (vLLM). `report`: `GET /v1/requests/{x-request-id}/usage`.
   */
  afterAbort: 'tokenize' | 'report' | 'none'
  /** Counters in `GET /metrics` of the tokens of all requests since the start; absent if it has none */
  totals?: { input: readonly string[]; output: readonly string[] }
}

/** `tokenize` is vLLM's `/tokenize` of a prompt or messages; `tokenize_content` llama-server's of a text. */
export type EngineRoute =
  | 'completions'
  | 'responses'
  | 'messages'
  | 'count_tokens'
  | 'rerank'
  | 'tokenize'
  | 'tokenize_content'

/** Routes besides chat completions and embeddings, with the oldest version of each; null for every one. */
export type EngineRoutes = Readonly<Partial<Record<EngineRoute, string | null>>>

/** Fields of requests for texts that change what a response means. Not every engine honors them. */
export const generationFields = [
  'audio',
  'echo',
  'format',
  'grammar',
  'guided_choice',
  'guided_grammar',
  'guided_json',
  'guided_regex',
  'json_schema',
  'min_tokens',
  'modalities',
  'schema',
  'structured_outputs',
  'suffix',
  'truncate_prompt_tokens',
] as const

/** The same of requests for embeddings and rankings, such as those that cut long texts */
export const readingFields = [
  'dimensions',
  'instruction',
  'max_chunks_per_doc',
  'max_tokens_per_doc',
  'overlap_tokens',
  'truncate',
  'truncate_prompt_tokens',
  'truncation',
] as const

export type MeaningfulField = (typeof generationFields | typeof readingFields)[number]

/** Fields that an engine ignores silently, each with the oldest version that does; null for every one. */
export type IgnoredFields = Readonly<Partial<Record<MeaningfulField, string | null>>>

/**
 * How chats must be written for an engine that does not do all of them. It takes the schema of an
 * answer only in OpenAI's form.
 */
export interface ChatForm {
  /**
   * `some keywords`: it ignores the other constraints of a schema, and fails each chat that has a tool whose
   * schema it can't convert.
   */
  schemas: 'all keywords' | 'some keywords'
  /** False if it takes each `tool_choice` that is an object for `auto` */
  namesTools: boolean
  /** False if it calls no tool while the answer has a schema */
  callsWithSchema: boolean
}

/** How an engine serves LoRAs. */
export interface LoraServing {
  format: LoraFormat
  /** `name`: by id in place of the model (vLLM). `list`: by a member `lora` with each scale (llama.cpp). */
  selectedBy: 'name' | 'list'
  /** Routes on which requests can't select one; absent for none */
  deafRoutes?: readonly EngineRoute[]
  /**
   * The ranks with room, in order: LoRAs take as much as the largest, rounded up to one of these. Without a
   * GPU there is an empty place besides. Absent if a LoRA takes what its files have.
   */
  ranks?: readonly number[]
}

/** How the requests of some callers don't share cached prefixes with those of others. */
export interface CacheSeparation {
  /** `salt`: by different values of `cache_salt`. `off`: with `cache_prompt: false` they use no cache. */
  by: 'salt' | 'off'
  /** True if engines may share a cache, so that organizations need salts too */
  spansEngines?: boolean
  /** Routes that ignore this; absent for none */
  deafRoutes?: readonly EngineRoute[]
}

/**
 * What an option of an engine's command line takes. `switch`: true or false, which is `--no-…`. `flag`: true
 * or false, which omits it. `words`: one of these. `json`: the text of an object with only these keys, whose
 * values have no members; null for any keys.
 */
export type OptionRule =
  | { takes: 'switch' | 'flag' }
  | { takes: 'integer' | 'number'; from: number; to: number }
  | { takes: 'words'; words: readonly string[] }
  | { takes: 'name' }
  | { takes: 'json'; keys: readonly string[] | null }

/** An engine that a runtime runs. */
export interface RuntimeEngine {
  /** The name in the API, such as `vllm`; null if the runtime doesn't say which engine serves a model */
  name: string | null
  /** Names the engine in sentences, such as `vLLM` */
  title: string
  /** The weight formats that the runtime gives to this engine */
  formats: readonly string[]
  /** The engine's own architectures, as its formats' weight files name them; absent if unknown */
  architectures?: readonly string[]
  /** The key of this engine in `EngineProfiles` */
  profile: string
  sizing: EngineSizing
  /** How the engine accepts images: `projector` if the profile of the model must name one */
  images: 'native' | 'projector' | 'none'
  counts: TokenCounts
  /** Whether it brings the messages of a chat in an order that the model's template takes; absent if not */
  adaptsRoles?: boolean
  routes: EngineRoutes
  /** Absent if the engine refuses what it doesn't honor, or while that is unknown */
  ignoredFields?: IgnoredFields
  /** Absent or null if the engine does all that chats may ask for */
  chatForm?: ChatForm | null
  /** Absent if the engine serves no LoRAs on this runtime */
  loras?: LoraServing
  /** The options that a deployment may set, by name without dashes; absent or null for none */
  options?: Readonly<Record<string, OptionRule>> | null
  /** Absent or null if all requests share cached prefixes, or while that is unknown */
  cacheSeparation?: CacheSeparation | null
  /** `0.28.0` for vLLM, `10964` for build b10964 of llama.cpp; null when unknown. The newest of several. */
  version: string | null
  /** All versions that instances can have, the newest first; absent for one that only the operator changes */
  versions?: readonly string[]
  /** What the engine's releases have before the version, such as `b` */
  versionPrefix: string
}

/** The context length per request, and the number of requests processed at the same time. */
export interface ServingCapacity {
  contextTokens: number
  parallelSequences: number
}
