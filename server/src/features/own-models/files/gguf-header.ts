/** The header of a GGUF file: its metadata, and the number of weights. */

import { ByteCursor, InvalidFileError } from './byte-cursor.ts'
import type { ByteSource } from './byte-cursor.ts'
import { LoraMatrices } from '../facts/lora-facts.ts'
import type { TensorShapes } from '../facts/lora-facts.ts'

export type GgufValue = number | boolean | string | readonly number[]

export interface GgufHeader {
  /** Values by key. Long texts and long arrays, such as the vocabulary, are left out. */
  values: ReadonlyMap<string, GgufValue>
  /** Lengths of all arrays by key */
  lengths: ReadonlyMap<string, number>
  /** Number of weights in the tensors of this file */
  parameters: number
  /** The matrices of a LoRA; null for another file */
  matrices: LoraMatrices | null
}

/** Reads the shapes of a file's matrices. Throws like `readGgufHeader`. */
export async function readTensorShapes(source: ByteSource): Promise<TensorShapes> {
  const { cursor, tensors } = await readStart(source)
  const matrices = new LoraMatrices()
  await readTensors(cursor, tensors, matrices)
  return matrices.toContents(null).shapes
}

const magic = 0x46554747
/** The vocabularies of the largest published models take about 12 MB. */
const maxHeaderBytes = 48 * 1024 * 1024
const maxKeyBytes = 1024
const maxTextBytes = 256 * 1024
const maxEntries = 10_000
const maxTensors = 200_000
const maxKeptItems = 4096
const maxDimensions = 8

const textType = 8
const arrayType = 9
/** Bytes of the other types, in the order of their numbers */
const scalarBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8] as const

/** Reads a header. Throws InvalidFileError if it is not valid, and what the source throws. */
export async function readGgufHeader(source: ByteSource): Promise<GgufHeader> {
  const { cursor, tensors, values, lengths } = await readStart(source)
  const matrices = values.get('general.type') === 'adapter' ? new LoraMatrices() : null
  return { values, lengths, parameters: await readTensors(cursor, tensors, matrices), matrices }
}

/** Reads what comes before the tensors. */
async function readStart(source: ByteSource) {
  const cursor = new ByteCursor(source, maxHeaderBytes)
  await cursor.fetch(4)
  if (cursor.takeInteger(4) !== magic) throw new InvalidFileError('The file is not a GGUF file.')
  await cursor.fetch(20)
  const version = cursor.takeInteger(4)
  if (version !== 2 && version !== 3) {
    throw new InvalidFileError(`The file has GGUF version ${version}, but only 2 and 3 are supported.`)
  }
  const tensors = requireAtMost(cursor.takeInteger(8), maxTensors, 'tensors')
  const entries = requireAtMost(cursor.takeInteger(8), maxEntries, 'entries')
  const values = new Map<string, GgufValue>()
  const lengths = new Map<string, number>()
  for (let index = 0; index < entries; index++) await readEntry(cursor, values, lengths)
  return { cursor, tensors, values, lengths }
}

async function readEntry(
  cursor: ByteCursor,
  values: Map<string, GgufValue>,
  lengths: Map<string, number>,
): Promise<void> {
  const key = await readText(cursor, maxKeyBytes)
  if (key === null) throw new InvalidFileError('The header has a key that is too long.')
  await cursor.fetch(4)
  const type = cursor.takeInteger(4)
  if (type === textType) {
    const text = await readText(cursor, maxTextBytes)
    if (text !== null) values.set(key, text)
  } else if (type === arrayType) {
    await readArray(cursor, key, values, lengths)
  } else {
    await cursor.fetch(bytesOf(type))
    values.set(key, takeScalar(cursor, type))
  }
}

async function readArray(
  cursor: ByteCursor,
  key: string,
  values: Map<string, GgufValue>,
  lengths: Map<string, number>,
): Promise<void> {
  await cursor.fetch(12)
  const type = cursor.takeInteger(4)
  const length = cursor.takeInteger(8)
  lengths.set(key, length)
  if (type === textType) return skipTexts(cursor, length)
  const bytes = bytesOf(type)
  if (length > maxKeptItems) return cursor.skip(length * bytes)
  await cursor.fetch(length * bytes)
  values.set(
    key,
    Array.from({ length }, () => Number(takeScalar(cursor, type))),
  )
}

async function skipTexts(cursor: ByteCursor, length: number): Promise<void> {
  for (let index = 0; index < length; index++) {
    // Waiting for bytes that are here would take most of the time.
    if (!cursor.has(8)) await cursor.fetch(8)
    cursor.skip(cursor.takeInteger(8))
  }
}

/** Reads a text; null for one that is longer than `most` bytes, which is skipped. */
async function readText(cursor: ByteCursor, most: number): Promise<string | null> {
  await cursor.fetch(8)
  const bytes = cursor.takeInteger(8)
  if (bytes > most) {
    cursor.skip(bytes)
    return null
  }
  return readString(cursor, bytes)
}

async function readString(cursor: ByteCursor, bytes: number): Promise<string> {
  if (bytes === 0) return ''
  await cursor.fetch(bytes)
  return new TextDecoder().decode(cursor.takeBytes(bytes))
}

function bytesOf(type: number): 1 | 2 | 4 | 8 {
  const bytes = scalarBytes[type]
  if (bytes === undefined || bytes === 0)
    throw new InvalidFileError('The header has a value of unknown type.')
  return bytes
}

function takeScalar(cursor: ByteCursor, type: number): number | boolean {
  if (type === 7) return cursor.takeInteger(1) !== 0
  if (type === 6) return cursor.takeFloat(4)
  if (type === 12) return cursor.takeFloat(8)
  const isSigned = type === 1 || type === 3 || type === 5 || type === 11
  return cursor.takeInteger(bytesOf(type), isSigned)
}

/** Counts the weights of the tensors, and notes the matrices of a LoRA. */
async function readTensors(
  cursor: ByteCursor,
  tensors: number,
  matrices: LoraMatrices | null,
): Promise<number> {
  let parameters = 0
  for (let index = 0; index < tensors; index++) {
    await cursor.fetch(8)
    const length = requireAtMost(cursor.takeInteger(8), maxKeyBytes, 'letters in the name of a tensor')
    const name = matrices === null ? cursor.skip(length) : await readString(cursor, length)
    await cursor.fetch(4)
    const dimensions = requireAtMost(cursor.takeInteger(4), maxDimensions, 'dimensions')
    await cursor.fetch(dimensions * 8 + 12)
    const shape = Array.from({ length: dimensions }, () => cursor.takeInteger(8))
    cursor.skip(12)
    if (name !== undefined) matrices?.add(name, shape[0] ?? 0, shape[1] ?? 0)
    parameters += shape.reduce((size, dimension) => size * dimension, 1)
  }
  if (!Number.isSafeInteger(parameters)) throw new InvalidFileError('The tensors have impossible sizes.')
  return parameters
}

function requireAtMost(value: number, most: number, what: string): number {
  if (value > most) throw new InvalidFileError(`The header claims ${value} ${what}.`)
  return value
}
