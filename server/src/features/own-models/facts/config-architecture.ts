/** The memory facts of a model in its `config.json`, as transformers names them. */

import { z } from 'zod'
import type { ModelArchitecture } from '../../../ports/model-variant.ts'
import { isObject, readText } from './config-object.ts'
import type { ConfigObject } from './config-object.ts'
import { readStateLayers } from './state-layers.ts'

/** Larger than in any model that exists */
const integer = z
  .int()
  .positive()
  .max(2 ** 31)
const optional = integer.nullish().catch(null)

const attentionSchema = z.object({
  layers: integer.max(10_000),
  heads: integer.max(100_000),
  kvHeads: optional,
  headDimension: optional,
  hiddenSize: integer,
  vocabularySize: integer,
  contextLength: optional,
})

/** Other names of the same fact in older models */
const aliases: Readonly<Record<keyof z.output<typeof attentionSchema>, readonly string[]>> = {
  layers: ['num_hidden_layers', 'n_layer', 'n_layers', 'num_layers'],
  heads: ['num_attention_heads', 'n_head', 'n_heads'],
  kvHeads: ['num_key_value_heads', 'num_kv_heads', 'n_head_kv', 'multi_query_group_num'],
  headDimension: ['head_dim', 'attention_head_dim', 'kv_channels'],
  hiddenSize: ['hidden_size', 'n_embd', 'd_model'],
  vocabularySize: ['vocab_size', 'padded_vocab_size'],
  contextLength: [
    'max_position_embeddings',
    'n_positions',
    'max_sequence_length',
    'seq_length',
    'max_seq_len',
  ],
}

/** Defaults of transformers for model types whose published configurations leave these facts out */
const defaults: ReadonlyMap<string, ConfigObject> = new Map([
  [
    'gemma3_text',
    {
      num_attention_heads: 8,
      num_key_value_heads: 4,
      head_dim: 256,
      vocab_size: 262_208,
      max_position_embeddings: 131_072,
      sliding_window_pattern: 6,
    },
  ],
])

/** The part of a configuration that describes the language model, which multimodal models nest. */
export function findTextConfig(config: ConfigObject): ConfigObject {
  for (const name of ['text_config', 'llm_config', 'language_config', 'thinker_config']) {
    const nested = config[name]
    if (isObject(nested)) return { ...config, ...findTextConfig(nested) }
  }
  return { ...defaults.get(readText(config['model_type'])), ...config }
}

/** The longest request that a model was trained for, in tokens; null when the configuration doesn't say. */
export function readContextLength(config: ConfigObject): number | null {
  return optional.parse(pick(findTextConfig(config), 'contextLength')) ?? null
}

/** Reads the memory estimate's facts; null if one is missing. `parameters` counts all weights. */
export function readConfigArchitecture(config: ConfigObject, parameters: number): ModelArchitecture | null {
  const text = findTextConfig(config)
  const facts = Object.fromEntries(
    Object.keys(aliases).map((name) => [name, pick(text, name as keyof typeof aliases)]),
  )
  const parsed = attentionSchema.safeParse(facts)
  if (!parsed.success) return null
  const { layers, heads, hiddenSize, vocabularySize } = parsed.data
  const state = readStateLayers(text, layers)
  if (state === null) return null
  const { kvHeads, headDimension } = readKeyValueHeads(text, parsed.data)
  const attending = layers - state.layers
  return {
    parameters,
    layers: attending,
    attentionHeads: heads,
    kvHeads,
    headDimension,
    hiddenSize,
    vocabularySize,
    ...readSlidingLayers(text, attending),
    ...(state.bytes === 0 ? {} : { stateBytes: state.bytes }),
  }
}

function pick(config: ConfigObject, name: keyof typeof aliases): unknown {
  return aliases[name].map((alias) => config[alias]).find((value) => value !== undefined && value !== null)
}

function readKeyValueHeads(
  config: ConfigObject,
  { heads, hiddenSize, ...given }: z.output<typeof attentionSchema>,
): { kvHeads: number; headDimension: number } {
  const latent = optional.parse(config['kv_lora_rank']) ?? null
  if (latent !== null) {
    // The cache holds one latent vector per token, which counts as one KV head with keys and values.
    const rope = optional.parse(config['qk_rope_head_dim']) ?? 0
    return { kvHeads: 1, headDimension: Math.ceil((latent + rope + countIndexValues(config)) / 2) }
  }
  const isMultiQuery = config['multi_query'] === true && config['new_decoder_architecture'] !== true
  const kvHeads = given.kvHeads ?? (isMultiQuery ? 1 : heads)
  return { kvHeads, headDimension: given.headDimension ?? Math.ceil(hiddenSize / heads) }
}

/** The keys of sparse attention, which have 8 bits and a scale, as 16-bit values */
function countIndexValues(config: ConfigObject): number {
  const dimension = optional.parse(config['index_head_dim']) ?? null
  return dimension === null ? 0 : Math.ceil((dimension + 4) / 2)
}

/** Layers that attend only to a window: listed by `layer_types`, every n-th one not, or all. */
function readSlidingLayers(
  config: ConfigObject,
  layers: number,
): Pick<ModelArchitecture, 'slidingLayers' | 'slidingWindow' | 'slidingKvHeads' | 'slidingHeadDimension'> {
  const window =
    optional.parse(config['sliding_window']) ?? optional.parse(config['attention_chunk_size']) ?? null
  const context = optional.parse(pick(config, 'contextLength')) ?? Infinity
  if (window === null || window >= context || config['use_sliding_window'] === false) return {}
  const slidingLayers = countSlidingLayers(config, layers)
  if (slidingLayers === 0) return {}
  return { slidingLayers, slidingWindow: window }
}

function countSlidingLayers(config: ConfigObject, layers: number): number {
  const types = config['layer_types']
  if (Array.isArray(types)) {
    const isSliding = (type: unknown) => type === 'sliding_attention' || type === 'chunked_attention'
    return Math.min(layers, types.filter(isSliding).length)
  }
  // A list of the layers without position embeddings, which are those with full attention
  const positions = config['no_rope_layers']
  if (Array.isArray(positions) && positions.length === layers)
    return positions.filter((each) => each === 1).length
  const pattern = optional.parse(config['sliding_window_pattern'] ?? config['_sliding_window_pattern'])
  if (pattern) return layers - Math.floor(layers / pattern)
  const interval = optional.parse(config['no_rope_layer_interval']) ?? null
  if (interval !== null) return layers - Math.floor(layers / interval)
  if (config['model_type'] === 'gemma2') return Math.ceil(layers / 2)
  if (config['use_sliding_window'] === true) {
    return Math.max(0, layers - (optional.parse(config['max_window_layers']) ?? 0))
  }
  return layers
}
