/** Small files with the headers of published models, for tests of imports. */

import {
  encodeGguf,
  encodeHead,
  flag,
  integers,
  number,
  randomFloats,
  string,
  strings,
} from '../../../../bench/engine/gguf.ts'

/** A value of a GGUF header */
export type GgufEntry = number | boolean | string | readonly string[] | readonly number[]

/** The bytes of a GGUF file with this metadata and tensors, without the weights themselves. */
export function makeGguf(
  entries: Readonly<Record<string, GgufEntry>>,
  shapes: readonly (readonly number[])[] = [[64, 64]],
): Buffer {
  const fields = Object.entries(entries).map(([key, value]) => [key, encode(value)] as const)
  const tensors = shapes.map((shape, index) => ({
    name: `blk.${index}.weight`,
    shape,
    type: 'f32' as const,
    bytes: 0,
  }))
  return encodeHead(fields, tensors)
}

function encode(value: GgufEntry): Buffer {
  if (typeof value === 'boolean') return flag(value)
  if (typeof value === 'number') return number('uint32', value)
  if (typeof value === 'string') return string(value)
  return typeof value[0] === 'string' ? strings(value as string[]) : integers(value as number[])
}

/** The shape of a model that an adapter changes. */
export interface AdaptedShape {
  layers: number
  hiddenSize: number
}

/**
 * The bytes of a GGUF adapter of the queries and values of a model of the architecture `llama`, with other
 * random weights for each seed.
 */
export function makeGgufAdapter({ layers, hiddenSize }: AdaptedShape, seed: number, base?: string): Buffer {
  const targets = Array.from({ length: layers }, (_, layer) => [
    `blk.${layer}.attn_q`,
    `blk.${layer}.attn_v`,
  ]).flat()
  return makeGgufLora(
    targets.map((name) => ({ name, columns: hiddenSize, rows: hiddenSize })),
    seed,
    base,
  )
}

/** The bytes of a GGUF adapter of these matrices, which are named without `.weight`. */
export function makeGgufLora(
  targets: readonly { name: string; columns: number; rows: number }[],
  seed = 1,
  base?: string,
): Buffer {
  const rank = 4
  const fields = [
    ['general.architecture', string('llama')],
    ['general.type', string('adapter')],
    ['adapter.type', string('lora')],
    ['adapter.lora.alpha', number('float32', 8)],
    ...(base === undefined ? [] : [['general.base_model.0.repo_url', string(base)] as const]),
  ] as const
  const tensors = targets.flatMap(({ name, columns, rows }, index) => [
    randomFloats(`${name}.weight.lora_a`, { columns, rows: rank, seed: seed + index, most: 1 }),
    randomFloats(`${name}.weight.lora_b`, { columns: rank, rows, seed: seed + index + 100, most: 1 }),
  ])
  return encodeGguf(fields, tensors)
}

/**
 * The bytes of a safetensors file with tensors of these types and shapes, filled with zeros, or with random
 * floats for a seed.
 */
export function makeSafetensors(
  tensors: Readonly<Record<string, [type: string, shape: number[]]>>,
  seed?: number,
): Buffer {
  const sizes: Readonly<Record<string, number>> = { F32: 4, I32: 4, BF16: 2, F16: 2, U8: 1, F8_E4M3: 1 }
  let offset = 0
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, [dtype, shape]]) => {
      const bytes = shape.reduce((product, each) => product * each, sizes[dtype] ?? 1)
      const data_offsets = [offset, (offset += bytes)]
      return [name, { dtype, shape, data_offsets }]
    }),
  )
  const json = Buffer.from(JSON.stringify({ __metadata__: { format: 'pt' }, ...header }))
  const content =
    seed === undefined
      ? Buffer.alloc(offset)
      : randomFloats('', { columns: offset / sizes['F32']!, rows: 1, seed, most: 1 }).write()
  return Buffer.concat([u64(json.length), json, content])
}

/** The metadata of a small Qwen3, with a chat template that knows tools. */
export const qwenMetadata: Readonly<Record<string, GgufEntry>> = {
  'general.architecture': 'qwen3',
  'qwen3.context_length': 40_960,
  'qwen3.block_count': 28,
  'qwen3.embedding_length': 1024,
  'qwen3.attention.head_count': 16,
  'qwen3.attention.head_count_kv': 8,
  'qwen3.attention.key_length': 128,
  'qwen3.attention.value_length': 128,
  'tokenizer.ggml.tokens': Array.from({ length: 1000 }, (_, index) => `token ${index}`),
  'tokenizer.chat_template': '{% if tools %}{{ tools }}{% endif %}<think>{{ messages }}',
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
