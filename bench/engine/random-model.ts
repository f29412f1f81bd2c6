import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readGgufFileInfo } from 'node-llama-cpp'
import { constantVector, flag, integers, number, randomMatrix, string, strings, writeGguf } from './gguf.ts'
import type { GgufField, GgufTensor } from './gguf.ts'

/** Files that outlive a run. */
export const cacheFolder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'berth-bench')

/** The shape of a model of the family Qwen2. */
export interface ModelShape {
  name: string
  layers: number
  width: number
  heads: number
  kvHeads: number
  /** Width of the feed-forward layers */
  inner: number
  vocabulary: number
  /** The output layer uses the embeddings of the input */
  isTied: boolean
}

/** The shapes of three models, from their config.json. */
export const shapes = {
  half: {
    name: 'qwen2.5-0.5b',
    layers: 24,
    width: 896,
    heads: 14,
    kvHeads: 2,
    inner: 4864,
    vocabulary: 151_936,
    isTied: true,
  },
  oneAndHalf: {
    name: 'qwen2.5-1.5b',
    layers: 28,
    width: 1536,
    heads: 12,
    kvHeads: 2,
    inner: 8960,
    vocabulary: 151_936,
    isTied: true,
  },
  seven: {
    name: 'qwen2.5-7b',
    layers: 28,
    width: 3584,
    heads: 28,
    kvHeads: 4,
    inner: 18_944,
    vocabulary: 152_064,
    isTied: false,
  },
} satisfies Record<string, ModelShape>

/** The longest context of the models, in tokens. */
const contextTokens = 32_768

/**
 * Resolves to the path of a cached GGUF file (Q8_0) with this shape, random weights, and the padded
 * vocabulary and chat template of `tokenizerFile`. It is as fast as the real model; its text is noise.
 */
export async function prepareRandomModel(tokenizerFile: string, shape: ModelShape): Promise<string> {
  const path = join(cacheFolder, `random-${shape.name}-q8_0.gguf`)
  if (existsSync(path)) return path
  const fields: GgufField[] = [
    ['general.architecture', string('qwen2')],
    ['qwen2.block_count', number('uint32', shape.layers)],
    ['qwen2.context_length', number('uint32', contextTokens)],
    ['qwen2.embedding_length', number('uint32', shape.width)],
    ['qwen2.feed_forward_length', number('uint32', shape.inner)],
    ['qwen2.attention.head_count', number('uint32', shape.heads)],
    ['qwen2.attention.head_count_kv', number('uint32', shape.kvHeads)],
    ['qwen2.attention.layer_norm_rms_epsilon', number('float32', 1e-6)],
    ['qwen2.rope.freq_base', number('float32', 1e6)],
    ...(await copyTokenizer(tokenizerFile, shape.vocabulary)),
  ]
  await mkdir(cacheFolder, { recursive: true })
  await writeGguf(path, fields, listTensors(shape))
  return path
}

/** The entry of the catalog for a file of `prepareRandomModel`, as JSON. */
export function describeRandomModel(
  { name, layers, width, heads, kvHeads, vocabulary }: ModelShape,
  { file, bytes }: { file: string; bytes: number },
): string {
  // Q8_0 takes 34 bytes for 32 weights.
  const parameters = Math.round((bytes / 34) * 32)
  const [format, quantization, billions] = ['ggufv2', 'Q8_0', parameters / 1e9]
  const architecture = {
    parameters,
    layers,
    hidden_size: width,
    attention_heads: heads,
    kv_heads: kvHeads,
    head_dim: width / heads,
    vocabulary_size: vocabulary,
  }
  const variants = [{ format, quantizations: [quantization], weights: { file } }]
  return JSON.stringify({
    id: name,
    model_name: name,
    display_name: name,
    provider: 'Berth',
    family: 'random',
    model_type: 'LLM',
    description: 'Random weights',
    license: 'apache-2.0',
    tags: ['chat'],
    enabled: true,
    context_length: contextTokens,
    sizes: [{ billions, architecture, variants }],
    default: { format, billions, quantization },
  })
}

/** The fields with the vocabulary and the chat template of a file, and with padding up to `size` tokens. */
export async function copyTokenizer(file: string, size?: number): Promise<GgufField[]> {
  const { metadata } = await readGgufFileInfo(file)
  const { chat_template: template, ggml } = metadata.tokenizer
  const padding = Array.from(
    { length: (size ?? ggml.tokens.length) - ggml.tokens.length },
    (_, index) => `pad${index}`,
  )
  return [
    ['tokenizer.ggml.model', string('gpt2')],
    ['tokenizer.ggml.pre', string('gpt-2')],
    ['tokenizer.ggml.tokens', strings([...ggml.tokens, ...padding])],
    ['tokenizer.ggml.token_type', integers([...ggml.token_type, ...padding.map(() => 1)])],
    ['tokenizer.ggml.merges', strings(ggml.merges!)],
    ['tokenizer.ggml.bos_token_id', number('uint32', ggml.bos_token_id!)],
    ['tokenizer.ggml.eos_token_id', number('uint32', ggml.eos_token_id!)],
    ['tokenizer.ggml.add_bos_token', flag(false)],
    ['tokenizer.chat_template', string(String(template))],
  ]
}

function listTensors({ layers, width, heads, kvHeads, inner, vocabulary, isTied }: ModelShape): GgufTensor[] {
  const head = width / heads
  const tensors: GgufTensor[] = []
  const vector = (name: string, length: number, value: number): void => {
    tensors.push(constantVector(name, length, value))
  }
  const matrix = (name: string, columns: number, rows: number): void => {
    tensors.push(randomMatrix(name, { columns, rows, seed: tensors.length }))
  }
  matrix('token_embd.weight', width, vocabulary)
  vector('output_norm.weight', width, 1)
  if (!isTied) matrix('output.weight', width, vocabulary)
  for (let layer = 0; layer < layers; layer++) {
    const at = `blk.${layer}`
    vector(`${at}.attn_norm.weight`, width, 1)
    vector(`${at}.ffn_norm.weight`, width, 1)
    for (const [name, rows] of [
      ['q', width],
      ['k', kvHeads * head],
      ['v', kvHeads * head],
    ] as const) {
      matrix(`${at}.attn_${name}.weight`, width, rows)
      vector(`${at}.attn_${name}.bias`, rows, 0)
    }
    matrix(`${at}.attn_output.weight`, width, width)
    matrix(`${at}.ffn_gate.weight`, width, inner)
    matrix(`${at}.ffn_up.weight`, width, inner)
    matrix(`${at}.ffn_down.weight`, inner, width)
  }
  return tensors
}
