/** Small files with the headers of published models, for tests of imports. */

/** A value of a GGUF header */
export type GgufEntry = number | boolean | string | readonly string[] | readonly number[]

/** The bytes of a GGUF file with this metadata and tensors, without the weights themselves. */
export function makeGguf(
  entries: Readonly<Record<string, GgufEntry>>,
  tensors: readonly (readonly number[])[] = [[64, 64]],
): Buffer {
  const parts = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(Object.keys(entries).length)]
  for (const [key, value] of Object.entries(entries)) parts.push(text(key), encode(value))
  tensors.forEach((shape, index) => {
    parts.push(text(`blk.${index}.weight`), u32(shape.length), ...shape.map(u64), u32(0), u64(0))
  })
  return Buffer.concat(parts)
}

function encode(value: GgufEntry): Buffer {
  if (typeof value === 'boolean') return Buffer.concat([u32(7), Buffer.from([Number(value)])])
  if (typeof value === 'number') return Buffer.concat([u32(4), u32(value)])
  if (typeof value === 'string') return Buffer.concat([u32(8), text(value)])
  const items = value.map((item) => (typeof item === 'string' ? text(item) : u32(item)))
  const type = typeof value[0] === 'string' ? 8 : 4
  return Buffer.concat([u32(9), u32(type), u64(value.length), ...items])
}

/** The bytes of a safetensors file with tensors of these types and shapes, filled with zeros. */
export function makeSafetensors(tensors: Readonly<Record<string, [type: string, shape: number[]]>>): Buffer {
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
  return Buffer.concat([u64(json.length), json, Buffer.alloc(offset)])
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

function text(value: string): Buffer {
  return Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
