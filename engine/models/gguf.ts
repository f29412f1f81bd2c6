/** A value that GGUF metadata can hold; the type is always written out, because GGUF readers insist on it. */
export type GgufValue =
  | { type: 'uint32'; value: number }
  | { type: 'float32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'int32[]'; value: readonly number[] }
  | { type: 'float32[]'; value: readonly number[] }
  | { type: 'string[]'; value: readonly string[] }

/**
 * A tensor to write. `shape` counts in GGUF's order (the fastest dimension first): a matrix of r rows and c columns
 * is `[c, r]`, its values row after row.
 */
export interface GgufTensor {
  name: string
  shape: readonly number[]
  encoding: 'f32' | 'f16'
  values: Float32Array
}

const VERSION = 3
const ALIGNMENT = 32
const VALUE_TYPE = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const
const TENSOR_TYPE = { f32: 0, f16: 1 } as const

/**
 * Encodes a GGUF version 3 file (the format is described in ggml's docs/gguf.md): header, metadata, tensor
 * descriptions, then the tensors' data, each aligned to 32 bytes. Keys and tensors keep the given order, so the same
 * input makes the same bytes.
 */
export function encodeGguf(
  metadata: ReadonlyMap<string, GgufValue>,
  tensors: readonly GgufTensor[],
): Uint8Array {
  const head: Buffer[] = [Buffer.from('GGUF'), uint32(VERSION), uint64(tensors.length), uint64(metadata.size)]
  for (const [key, entry] of metadata) head.push(string(key), ...encodeValue(entry))

  const data = tensors.map(encodeTensor)
  let offset = 0
  for (const [index, tensor] of tensors.entries()) {
    head.push(string(tensor.name), uint32(tensor.shape.length), ...tensor.shape.map(uint64))
    head.push(uint32(TENSOR_TYPE[tensor.encoding]), uint64(offset))
    offset += align(data[index]!.length)
  }

  const headSize = head.reduce((sum, part) => sum + part.length, 0)
  const file = Buffer.alloc(align(headSize) + offset)
  Buffer.concat(head).copy(file)
  let position = align(headSize)
  for (const part of data) {
    part.copy(file, position)
    position += align(part.length)
  }
  return file
}

function encodeValue(entry: GgufValue): Buffer[] {
  switch (entry.type) {
    case 'uint32':
      return [uint32(VALUE_TYPE.uint32), uint32(entry.value)]
    case 'float32':
      return [uint32(VALUE_TYPE.float32), float32(entry.value)]
    case 'bool':
      return [uint32(VALUE_TYPE.bool), Buffer.from([entry.value ? 1 : 0])]
    case 'string':
      return [uint32(VALUE_TYPE.string), string(entry.value)]
    case 'int32[]':
      return [...arrayHead(VALUE_TYPE.int32, entry.value.length), ...entry.value.map(int32)]
    case 'float32[]':
      return [...arrayHead(VALUE_TYPE.float32, entry.value.length), ...entry.value.map(float32)]
    case 'string[]':
      return [...arrayHead(VALUE_TYPE.string, entry.value.length), ...entry.value.map(string)]
  }
}

function encodeTensor(tensor: GgufTensor): Buffer {
  const count = tensor.shape.reduce((product, size) => product * size, 1)
  if (tensor.values.length !== count) {
    throw new RangeError(`${tensor.name} has ${tensor.values.length} values, its shape asks for ${count}`)
  }
  const bytes = Buffer.alloc(count * (tensor.encoding === 'f16' ? 2 : 4))
  for (const [index, value] of tensor.values.entries()) {
    if (tensor.encoding === 'f16') bytes.writeUInt16LE(toHalf(value), index * 2)
    else bytes.writeFloatLE(value, index * 4)
  }
  return bytes
}

/** The bits of the IEEE 754 half-precision number nearest to `value` (ties to even); overflow becomes infinity. */
export function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const size = Math.abs(value)
  if (Number.isNaN(value)) return 0x7e00
  if (size >= 65520) return sign | 0x7c00
  if (size < 2 ** -14) return sign | roundToEven(size * 2 ** 24)
  let exponent = 0
  while (size >= 2 ** (exponent + 1)) exponent++
  while (size < 2 ** exponent) exponent--
  // A mantissa that rounds up to 1024 carries into the exponent, which is what the addition does.
  return sign | (((exponent + 15) << 10) + roundToEven((size / 2 ** exponent - 1) * 1024))
}

function roundToEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1
  return floor % 2 === 0 ? floor : floor + 1
}

const align = (size: number): number => Math.ceil(size / ALIGNMENT) * ALIGNMENT
const arrayHead = (type: number, count: number): Buffer[] => [
  uint32(VALUE_TYPE.array),
  uint32(type),
  uint64(count),
]

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}

function string(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8')
  return Buffer.concat([uint64(bytes.length), bytes])
}
