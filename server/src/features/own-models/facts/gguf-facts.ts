/** The facts of a model in the header of its GGUF file, as llama.cpp names them. */

import type { ModelArchitecture, ModelType } from '../../../ports/model-variant.ts'
import type { GgufHeader, GgufValue } from '../files/gguf-header.ts'
import { toBaseRepository } from './lora-facts.ts'
import type { LoraContents } from './lora-facts.ts'

export interface GgufFacts {
  /** The architecture's name, such as `qwen3`; null if the header has none */
  name: string | null
  contextLength: number | null
  /** The quantization of most weights; null if the header doesn't say */
  quantization: string | null
  modelType: ModelType
  chatTemplate: string | null
  /** Replaces `chatTemplate` in requests with tools; null for none */
  toolTemplate: string | null
  architecture: ModelArchitecture | null
  /** null for a model that is no LoRA */
  lora: LoraContents | null
}

/** By llama.cpp's `LLAMA_FTYPE_*`; dashes are numbers that it no longer loads. */
const fileTypes = (
  'F32 F16 Q4_0 Q4_1 - - - Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ2_XXS ' +
  'IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M BF16 - - - TQ1_0 TQ2_0 ' +
  'MXFP4_MOE NVFP4 Q1_0 Q2_0'
).split(' ')

const rankPooling = 4
/** Architectures without a pooling type in old files */
const encoders = /bert|^t5encoder$|embed/

/** Every n-th layer attends to everything, if an architecture's files don't list the window layers. */
const windowPeriods: ReadonlyMap<string, number> = new Map([
  ['cohere2', 4],
  ['exaone4', 4],
  ['gemma2', 2],
  ['gemma3', 6],
  ['gpt-oss', 2],
])

/** Reads the facts of a header. `parameters` counts the weights of all files of the model. */
export function readGgufFacts({ values, lengths, matrices }: GgufHeader, parameters: number): GgufFacts {
  const name = text(values.get('general.architecture'))
  const of = (key: string) => values.get(`${name}.${key}`)
  const pooling = integer(of('pooling_type'))
  const isPooled = pooling !== null || (name !== null && encoders.test(name))
  return {
    name,
    contextLength: integer(of('context_length')),
    quantization: nameFileType(values.get('general.file_type')),
    modelType: pooling === rankPooling ? 'rerank' : isPooled ? 'embedding' : 'LLM',
    chatTemplate: text(values.get('tokenizer.chat_template')),
    toolTemplate: text(values.get('tokenizer.chat_template.tool_use')),
    architecture: readArchitecture(name ?? '', of, parameters, lengths.get('tokenizer.ggml.tokens') ?? null),
    lora: matrices?.toContents(toBaseRepository(values.get('general.base_model.0.repo_url'))) ?? null,
  }
}

function readArchitecture(
  name: string,
  of: (key: string) => GgufValue | undefined,
  parameters: number,
  vocabulary: number | null,
): ModelArchitecture | null {
  const layers = integer(of('block_count'))
  const hiddenSize = integer(of('embedding_length'))
  const heads = largest(of('attention.head_count'))
  const vocabularySize = vocabulary ?? integer(of('vocab_size'))
  if (layers === null || hiddenSize === null || heads === null || vocabularySize === null) return null
  if (layers > 10_000 || of('wkv.head_size') !== undefined) return null
  const state = readStates(of, layers)
  if (state === null) return null
  const attending = layers - state.layers
  return {
    parameters,
    layers: attending,
    attentionHeads: heads,
    ...readKeyValueHeads(of, heads, hiddenSize),
    hiddenSize,
    vocabularySize,
    ...readSliding(name, of, attending),
    ...(state.bytes === 0 ? {} : { stateBytes: state.bytes }),
  }
}

function readKeyValueHeads(
  of: (key: string) => GgufValue | undefined,
  heads: number,
  hiddenSize: number,
): { kvHeads: number; headDimension: number } {
  const latent = integer(of('attention.kv_lora_rank'))
  if (latent !== null) {
    const rope = integer(of('rope.dimension_count')) ?? 0
    return { kvHeads: 1, headDimension: Math.ceil((latent + rope) / 2) }
  }
  const key = integer(of('attention.key_length')) ?? Math.ceil(hiddenSize / heads)
  const value = integer(of('attention.value_length')) ?? key
  return {
    kvHeads: largest(of('attention.head_count_kv')) ?? heads,
    headDimension: Math.ceil((key + value) / 2),
  }
}

function readSliding(name: string, of: (key: string) => GgufValue | undefined, layers: number) {
  const window = integer(of('attention.sliding_window'))
  if (window === null) return {}
  const pattern = list(of('attention.sliding_window_pattern'))
  const period = integer(of('attention.sliding_window_pattern')) ?? windowPeriods.get(name)
  // Without either, all layers count as full: llama.cpp ignores the window then.
  const sliding =
    pattern?.filter((isSliding) => isSliding === 1).length ??
    (period === undefined ? 0 : layers - Math.floor(layers / period))
  const slidingLayers = Math.min(layers, sliding)
  return slidingLayers === 0 ? {} : { slidingLayers, slidingWindow: window }
}

/** Layers without a key-value cache and their states; null if the header doesn't say how large these are. */
function readStates(of: (key: string) => GgufValue | undefined, layers: number) {
  const kernel = integer(of('ssm.conv_kernel'))
  const inner = integer(of('ssm.inner_size'))
  const state = integer(of('ssm.state_size'))
  const groups = integer(of('ssm.group_count')) ?? 1
  const withCache = countWithCache(of, layers)
  if (withCache === layers) return { layers: 0, bytes: 0 }
  if (kernel === null || inner === null || state === null) return null
  const perLayer = inner * state * 4 + (kernel - 1) * (inner + 2 * groups * state) * 4
  return { layers: layers - withCache, bytes: (layers - withCache) * perLayer }
}

function countWithCache(of: (key: string) => GgufValue | undefined, layers: number): number {
  const heads = list(of('attention.head_count_kv'))
  if (heads !== null) return Math.min(layers, heads.filter((each) => each > 0).length)
  const interval = integer(of('full_attention_interval'))
  if (interval !== null) return Math.floor(layers / interval)
  return of('ssm.state_size') === undefined ? layers : 0
}

function nameFileType(value: GgufValue | undefined): string | null {
  const found = typeof value === 'number' ? fileTypes[value] : undefined
  return found === undefined || found === '-' ? null : found
}

function text(value: GgufValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}

function integer(value: GgufValue | undefined): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 2 ** 31 ? value : null
}

/** The largest item of a list with a value per layer, or the value of all layers. */
function largest(value: GgufValue | undefined): number | null {
  const items = list(value)
  return integer(items === null ? value : Math.max(0, ...items))
}

function list(value: GgufValue | undefined): readonly number[] | null {
  return typeof value === 'object' ? value : null
}
