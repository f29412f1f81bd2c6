// The readers of untrusted files for `npm run test:fuzz`. A finding is any error but InvalidFileError, an
// architecture that is no number, or more bytes read than a header may have.

import { InvalidFileError } from '../../server/src/features/own-models/files/byte-cursor.ts'
import { countParameters } from '../../server/src/features/own-models/files/count-parameters.ts'
import { readGgufHeader } from '../../server/src/features/own-models/files/gguf-header.ts'
import { parseJson } from '../../server/src/features/own-models/files/parse-json.ts'
import { readSafetensorsHeader } from '../../server/src/features/own-models/files/safetensors-header.ts'
import {
  LoraMatrices,
  findLoraRefusal,
  toBaseRepository,
} from '../../server/src/features/own-models/facts/lora-facts.ts'
import { isObject } from '../../server/src/features/own-models/facts/config-object.ts'
import {
  readConfigArchitecture,
  readContextLength,
} from '../../server/src/features/own-models/facts/config-architecture.ts'
import { readWeightFormat } from '../../server/src/features/own-models/facts/formats.ts'
import { readGgufFacts } from '../../server/src/features/own-models/facts/gguf-facts.ts'
import { listGgufVariants } from '../../server/src/features/own-models/facts/gguf-variants.ts'
import { parseRepositoryName } from '../../server/src/features/own-models/repository-name.ts'

const readers = [fuzzGguf, fuzzSafetensors, fuzzConfig, fuzzNames, fuzzAdapterConfig]

/** Gives the bytes to the reader that the first one names. */
export async function fuzz(data: Buffer): Promise<void> {
  const [kind = 0] = data
  try {
    await readers[kind % readers.length]!(data.subarray(1))
  } catch (error) {
    if (!(error instanceof InvalidFileError)) throw error
  }
}

function openSource(bytes: Buffer) {
  return {
    size: bytes.length,
    async read(start: number, end: number) {
      if (start < 0 || end < start || end > bytes.length) throw new RangeError(`read ${start} to ${end}`)
      return bytes.subarray(start, end)
    },
  }
}

async function fuzzGguf(bytes: Buffer): Promise<void> {
  // Random bytes seldom begin like a file.
  const file = Buffer.concat([Buffer.from('GGUF\u0003\0\0\0'), bytes])
  const header = await readGgufHeader(openSource(file))
  requireNumbers(readGgufFacts(header, header.parameters).architecture)
}

async function fuzzSafetensors(bytes: Buffer): Promise<void> {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(bytes.length))
  const tensors = await readSafetensorsHeader(openSource(Buffer.concat([length, bytes, Buffer.alloc(64)])))
  for (const bits of [null, 4, 8]) requireNumbers({ parameters: countParameters(tensors, bits) })
  const matrices = new LoraMatrices()
  for (const { name, shape } of tensors) matrices.add(name, shape.at(-1) ?? 0, shape.at(-2) ?? 0)
  requireNumbers({ rank: matrices.toContents(null).rank })
}

async function fuzzConfig(bytes: Buffer): Promise<void> {
  const config = parseJson(bytes)
  if (!isObject(config)) return
  requireNumbers(readConfigArchitecture(config, 1e9))
  readContextLength(config)
  readWeightFormat(config, 'a/b')
}

async function fuzzAdapterConfig(bytes: Buffer): Promise<void> {
  const config = parseJson(bytes)
  if (!isObject(config)) return
  findLoraRefusal(config)
  toBaseRepository(config['base_model_name_or_path'])
}

async function fuzzNames(bytes: Buffer): Promise<void> {
  const text = bytes.toString()
  parseRepositoryName(text)
  listGgufVariants(text.split('\n').map((path, index) => ({ path, bytes: index })))
}

function requireNumbers(facts: object | null): void {
  for (const [name, value] of Object.entries(facts ?? {})) {
    if (value !== undefined && !Number.isFinite(value)) throw new Error(`${name} is ${String(value)}`)
  }
}
