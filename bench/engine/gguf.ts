import { createCipheriv } from 'node:crypto'
import { open, rename } from 'node:fs/promises'

// Writes GGUF files, version 3: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

const ALIGNMENT = 32
const TYPES = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 }
const TENSOR = { f32: 0, q8_0: 8 }
const BLOCK = { values: 32, bytes: 34 }

/** One key of the metadata with its value. */
export type GgufField = readonly [string, Buffer]

/** A tensor, whose content is made when it is written. */
export interface GgufTensor {
  name: string
  /** The fastest-varying dimension first */
  shape: readonly number[]
  type: keyof typeof TENSOR
  bytes: number
  write: () => Buffer
}

/** Writes a file, which appears complete or not at all. */
export async function writeGguf(
  path: string,
  fields: readonly GgufField[],
  tensors: readonly GgufTensor[],
): Promise<void> {
  const unfinished = `${path}.${process.pid}`
  const file = await open(unfinished, 'w')
  try {
    await file.write(pad(encodeHead(fields, tensors)))
    for (const { write } of tensors) await file.write(pad(write()))
  } finally {
    await file.close()
  }
  await rename(unfinished, path)
}

/** The bytes of a small file. */
export function encodeGguf(fields: readonly GgufField[], tensors: readonly GgufTensor[]): Buffer {
  return Buffer.concat([pad(encodeHead(fields, tensors)), ...tensors.map(({ write }) => pad(write()))])
}

/** The bytes of a file before its weights, without the padding in between. */
export function encodeHead(
  fields: readonly GgufField[],
  tensors: readonly Omit<GgufTensor, 'write'>[],
): Buffer {
  let offset = 0
  const descriptions = tensors.map(({ name, shape, type, bytes }) => {
    const at = offset
    offset += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
    return [text(name), int32(shape.length), ...shape.map(int64), int32(TENSOR[type]), int64(at)]
  })
  return Buffer.concat([
    Buffer.from('GGUF'),
    int32(3),
    int64(tensors.length),
    int64(fields.length),
    ...fields.flatMap(([key, value]) => [text(key), value]),
    ...descriptions.flat(),
  ])
}

/** A tensor in float32 whose values are all the same. */
export function constantVector(name: string, length: number, value: number): GgufTensor {
  const write = () => Buffer.from(new Float32Array(length).fill(value).buffer)
  return { name, shape: [length], type: 'f32', bytes: length * 4, write }
}

/** A float32 matrix of pseudo-random values between -`most` and `most`, the same for the same seed. */
export function randomFloats(
  name: string,
  { columns, rows, seed, most }: { columns: number; rows: number; seed: number; most: number },
): GgufTensor {
  const count = columns * rows
  const write = () => {
    const random = randomBytes(count * 4, seed)
    const values = Float32Array.from(
      { length: count },
      (_, index) => (random.readInt32LE(index * 4) / 2 ** 31) * most,
    )
    return Buffer.from(values.buffer)
  }
  return { name, shape: [columns, rows], type: 'f32', bytes: count * 4, write }
}

/** A tensor in Q8_0, the same pseudo-random values for a seed every time. */
export function randomMatrix(
  name: string,
  { columns, rows, seed }: { columns: number; rows: number; seed: number },
): GgufTensor {
  const blocks = (columns * rows) / BLOCK.values
  const write = () => randomBlocks(blocks, seed)
  return { name, shape: [columns, rows], type: 'q8_0', bytes: blocks * BLOCK.bytes, write }
}

/** Each block starts with its scale, a half-precision number. */
function randomBlocks(blocks: number, seed: number): Buffer {
  const bytes = randomBytes(blocks * BLOCK.bytes, seed)
  // 2^-12: weights with a standard deviation of 0.018
  for (let block = 0; block < blocks; block++) bytes.writeUInt16LE(0x0c00, block * BLOCK.bytes)
  return bytes
}

function randomBytes(count: number, seed: number): Buffer {
  const key = Buffer.alloc(16, seed)
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(count))
}

/** A text as a value of the metadata. */
export function string(value: string): Buffer {
  return Buffer.concat([int32(TYPES.string), text(value)])
}

/** A number as a value of the metadata. */
export function number(type: 'uint32' | 'float32', value: number): Buffer {
  const bytes = int32(0)
  if (type === 'uint32') bytes.writeUInt32LE(value)
  else bytes.writeFloatLE(value)
  return Buffer.concat([int32(TYPES[type]), bytes])
}

/** true or false as a value of the metadata. */
export function flag(value: boolean): Buffer {
  return Buffer.concat([int32(TYPES.bool), Buffer.from([value ? 1 : 0])])
}

/** A list of texts as a value of the metadata. */
export function strings(values: readonly string[]): Buffer {
  return list('string', values.map(text))
}

/** A list of integers as a value of the metadata. */
export function integers(values: readonly number[]): Buffer {
  return list('int32', values.map(int32))
}

function list(type: 'string' | 'int32', items: readonly Buffer[]): Buffer {
  return Buffer.concat([int32(TYPES.array), int32(TYPES[type]), int64(items.length), ...items])
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
