/** The header of a safetensors file: names, types and shapes of its tensors. */

import { z } from 'zod'
import { InvalidFileError } from './byte-cursor.ts'
import type { ByteSource } from './byte-cursor.ts'
import { parseJson } from './parse-json.ts'

export interface Tensor {
  name: string
  /** Such as `BF16`, `F8_E4M3` or `U8` */
  type: string
  shape: readonly number[]
  /** Number of stored elements; packed weights have several in one */
  elements: number
}

/** The headers of published files with 5 GB of weights have less than 200 KB. */
const maxHeaderBytes = 2 * 1024 * 1024

const size = z.int().min(0)
const tensorSchema = z.object({
  dtype: z.string().max(20),
  shape: z.array(size).max(8),
  data_offsets: z.tuple([size, size]),
})

/** Reads a file's tensors. Throws InvalidFileError for an invalid header, and the source's errors. */
export async function readSafetensorsHeader(source: ByteSource): Promise<Tensor[]> {
  if (source.size < 10) throw new InvalidFileError('The file is too short for a safetensors file.')
  const start = await source.read(0, 8)
  const length = new DataView(start.buffer, start.byteOffset, start.byteLength).getBigUint64(0, true)
  if (length > BigInt(source.size - 8)) {
    throw new InvalidFileError('The header claims more bytes than the file has.')
  }
  if (length > BigInt(maxHeaderBytes)) throw new InvalidFileError('The header is too long.')
  const end = 8 + Number(length)
  const header = parseJson(await source.read(8, end))
  if (typeof header !== 'object' || header === null || Array.isArray(header)) {
    throw new InvalidFileError('The header is not a list of tensors.')
  }
  const available = source.size - end
  return Object.entries(header).flatMap(([name, described]) =>
    name === '__metadata__' ? [] : [readTensor(name, described, available)],
  )
}

function readTensor(name: string, described: unknown, available: number): Tensor {
  const tensor = tensorSchema.safeParse(described)
  if (!tensor.success) throw new InvalidFileError('The header describes a tensor in an unknown way.')
  const {
    dtype,
    shape,
    data_offsets: [from, to],
  } = tensor.data
  if (from > to || to > available) {
    throw new InvalidFileError('The header places a tensor outside of the file.')
  }
  const elements = shape.reduce((product, dimension) => product * dimension, 1)
  // Every type takes at least half a byte.
  if (elements > (to - from) * 2)
    throw new InvalidFileError('The header claims a tensor larger than its bytes.')
  return { name, type: dtype, shape, elements }
}
