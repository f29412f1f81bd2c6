import { ApplicationError } from '../../../base/errors.ts'
import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'
import { InvalidFileError, TruncatedFileError } from '../files/byte-cursor.ts'
import { readGgufHeader } from '../files/gguf-header.ts'
import type { GgufHeader } from '../files/gguf-header.ts'
import { ggufLoraFormat, ggufFormat } from '../facts/formats.ts'
import { readGgufFacts } from '../facts/gguf-facts.ts'
import { nameQuantization, unknownQuantization } from '../facts/gguf-variants.ts'
import { findObstacle, findServingEngine } from '../inspect.ts'
import type { RepositoryVariant } from '../repository-reader.ts'

/** An uploaded file whose first `received` bytes have arrived. */
export interface ArrivingFile {
  /** Resolves to the bytes from `start` up to, but without, `end`, or to fewer */
  read: (start: number, end: number) => Promise<Uint8Array>
  fileName: string
  bytes: number
  received: number
}

/** Null before the header arrived. Throws `not_gguf`, `unsupported_architecture`, `no_runnable_weights`. */
export async function readUploadedVariant(
  arriving: ArrivingFile,
  engines: readonly RuntimeEngine[],
): Promise<RepositoryVariant | null> {
  const header = await readArrivedHeader(arriving)
  if (header === null) return null
  const variant = toVariant(header, arriving)
  const obstacle = findObstacle(variant, engines)
  if (obstacle === null) return variant
  const isOther = variant.reason !== null || findServingEngine(variant, engines) === undefined
  throw new ApplicationError(isOther ? 'no_runnable_weights' : 'unsupported_architecture', `${obstacle}.`)
}

async function readArrivedHeader({ read, bytes, received }: ArrivingFile): Promise<GgufHeader | null> {
  try {
    return await readGgufHeader({
      size: bytes,
      read: async (start, end) =>
        start < received ? read(start, Math.min(end, received)) : new Uint8Array(),
    })
  } catch (error) {
    if (error instanceof TruncatedFileError && received < bytes) return null
    if (error instanceof InvalidFileError) throw new ApplicationError('not_gguf', error.message)
    throw error
  }
}

function toVariant(header: GgufHeader, { fileName, bytes }: ArrivingFile): RepositoryVariant {
  const { parameters, values } = header
  const facts = readGgufFacts(header, parameters)
  const isPart = Number(values.get('split.count') ?? 1) > 1
  return {
    format: facts.lora === null ? ggufFormat : ggufLoraFormat,
    quantization: nameQuantization(fileName) ?? facts.quantization ?? unknownQuantization,
    modelType: facts.modelType,
    weightBytes: bytes,
    files: [],
    parameters,
    contextTokens: facts.contextLength,
    architecture: facts.architecture,
    architectureName: facts.name,
    needsArchitecture: true,
    projector: null,
    seesImages: false,
    chatTemplate: facts.chatTemplate,
    toolTemplate: facts.toolTemplate,
    lora: facts.lora,
    reason: isPart
      ? 'The file is one part of a model. Merge the parts with llama-gguf-split --merge, then upload the result'
      : null,
  }
}
