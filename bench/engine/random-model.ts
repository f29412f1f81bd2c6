import { createCipheriv } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readGgufFileInfo } from 'node-llama-cpp'

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
export const CONTEXT = 32_768
const ALIGNMENT = 32

/** The numbers of the GGUF format, version 3: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
const TYPES = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 }
const TENSOR = { f32: 0, q8_0: 8 }
const BLOCK = { values: 32, bytes: 34 }

/**
 * Resolves to the path of a GGUF file (Q8_0) with this shape, random weights, and the padded vocabulary and chat template of
 * `tokenizerFile`. Writes the file to the user's cache on first use. Its speed is that of the real model; its text is noise.
 */
export async function prepareRandomModel(tokenizerFile: string, shape: ModelShape): Promise<string> {
  const path = join(cacheFolder, `random-${shape.name}-q8_0.gguf`)
  if (existsSync(path)) return path
  const { metadata } = await readGgufFileInfo(tokenizerFile)
  const { chat_template: template, ggml } = metadata.tokenizer
  const padding = Array.from({ length: shape.vocabulary - ggml.tokens.length }, (_, index) => `pad${index}`)
  const header: readonly (readonly [string, Buffer])[] = [
    ['general.architecture', string('qwen2')],
    ['qwen2.block_count', number('uint32', shape.layers)],
    ['qwen2.context_length', number('uint32', CONTEXT)],
    ['qwen2.embedding_length', number('uint32', shape.width)],
    ['qwen2.feed_forward_length', number('uint32', shape.inner)],
    ['qwen2.attention.head_count', number('uint32', shape.heads)],
    ['qwen2.attention.head_count_kv', number('uint32', shape.kvHeads)],
    ['qwen2.attention.layer_norm_rms_epsilon', number('float32', 1e-6)],
    ['qwen2.rope.freq_base', number('float32', 1e6)],
    ['tokenizer.ggml.model', string('gpt2')],
    ['tokenizer.ggml.pre', string('gpt-2')],
    ['tokenizer.ggml.tokens', list('string', [...ggml.tokens, ...padding].map(text))],
    ['tokenizer.ggml.token_type', list('int32', [...ggml.token_type, ...padding.map(() => 1)].map(int32))],
    ['tokenizer.ggml.merges', list('string', ggml.merges!.map(text))],
    ['tokenizer.ggml.bos_token_id', number('uint32', ggml.bos_token_id!)],
    ['tokenizer.ggml.eos_token_id', number('uint32', ggml.eos_token_id!)],
    ['tokenizer.ggml.add_bos_token', Buffer.concat([int32(TYPES.bool), Buffer.from([0])])],
    ['tokenizer.chat_template', string(String(template))],
  ]
  await mkdir(cacheFolder, { recursive: true })
  const unfinished = `${path}.${process.pid}`
  const file = await open(unfinished, 'w')
  try {
    const tensors = listTensors(shape)
    const head = Buffer.concat([
      Buffer.from('GGUF'),
      int32(3),
      int64(tensors.length),
      int64(header.length),
      ...header.flatMap(([key, value]) => [text(key), value]),
      ...tensors.map(({ description }) => description),
    ])
    await file.write(pad(head))
    for (const { write } of tensors) await file.write(pad(write()))
  } finally {
    await file.close()
  }
  await rename(unfinished, path)
  return path
}

interface Tensor {
  description: Buffer
  write: () => Buffer
}

function listTensors({ layers, width, heads, kvHeads, inner, vocabulary, isTied }: ModelShape): Tensor[] {
  const head = width / heads
  const tensors: Tensor[] = []
  let offset = 0
  const add = (
    name: string,
    shape: readonly number[],
    { type, write }: { type: number; write: () => Buffer },
    bytes: number,
  ) => {
    const description = [text(name), int32(shape.length), ...shape.map(int64), int32(type), int64(offset)]
    tensors.push({ description: Buffer.concat(description), write })
    offset += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
  }
  const vector = (name: string, length: number, value: number): void => {
    const write = (): Buffer => Buffer.from(new Float32Array(length).fill(value).buffer)
    add(name, [length], { type: TENSOR.f32, write }, length * 4)
  }
  const matrix = (name: string, columns: number, rows: number): void => {
    const blocks = (columns * rows) / BLOCK.values
    const seed = tensors.length
    add(
      name,
      [columns, rows],
      { type: TENSOR.q8_0, write: () => randomBlocks(blocks, seed) },
      blocks * BLOCK.bytes,
    )
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

/** The same pseudo-random bytes for a seed every time. Each block starts with its scale, a half-precision number. */
function randomBlocks(blocks: number, seed: number): Buffer {
  const key = Buffer.alloc(16, seed)
  const bytes = createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(
    Buffer.alloc(blocks * BLOCK.bytes),
  )
  // 2^-12: weights with a standard deviation of 0.018
  for (let block = 0; block < blocks; block++) bytes.writeUInt16LE(0x0c00, block * BLOCK.bytes)
  return bytes
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & (ALIGNMENT - 1))])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([int64(bytes.length), bytes])
}

function string(value: string): Buffer {
  return Buffer.concat([int32(TYPES.string), text(value)])
}

function number(type: 'uint32' | 'float32', value: number): Buffer {
  const bytes = int32(0)
  if (type === 'uint32') bytes.writeUInt32LE(value)
  else bytes.writeFloatLE(value)
  return Buffer.concat([int32(TYPES[type]), bytes])
}

function list(type: 'string' | 'int32', items: readonly Buffer[]): Buffer {
  return Buffer.concat([int32(TYPES.array), int32(TYPES[type]), int64(items.length), ...items])
}
