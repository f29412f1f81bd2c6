import pLimit from 'p-limit'
import type { HubFile, HubRepository, HubSession } from '../../ports/model-hub.ts'
import type { ModelArchitecture, ModelType } from '../../ports/model-variant.ts'
import { InvalidFileError } from './files/byte-cursor.ts'
import type { ByteSource } from './files/byte-cursor.ts'
import { parseJson } from './files/parse-json.ts'
import type { LoraContents } from './facts/lora-facts.ts'
import { isObject } from './facts/config-object.ts'
import type { ConfigObject } from './facts/config-object.ts'

/** A build of the model in the repository. */
export interface RepositoryVariant {
  format: string
  quantization: string
  modelType: ModelType
  weightBytes: number
  /** The weight files; none for the whole repository */
  files: string[]
  /** 0 when unknown */
  parameters: number
  contextTokens: number | null
  architecture: ModelArchitecture | null
  /** The architecture's name in the files; null when unknown */
  architectureName: string | null
  /** True if only an engine that has the architecture itself loads it */
  needsArchitecture: boolean
  /** The file with which the model sees images; null for none */
  projector: string | null
  /** True if the model sees images without one */
  seesImages: boolean
  chatTemplate: string | null
  /** Replaces `chatTemplate` in requests with tools; null for none */
  toolTemplate: string | null
  /** null for a model that is no LoRA */
  lora: LoraContents | null
  /** Why no engine can load the variant, as a clause; null if an engine may */
  reason: string | null
}

/** Reads files of one repository. */
export interface RepositoryReader {
  repository: HubRepository
  find(path: string): HubFile | undefined
  open(file: HubFile): ByteSource
  /** Reads a JSON object; null if it is missing. Throws InvalidFileError if it is too large or not one. */
  readConfig(path: string, maxBytes?: number): Promise<ConfigObject | null>
  /** Resolves to a text; null if the repository lacks it or it is too large. */
  readText(path: string, maxBytes: number): Promise<string | null>
}

const maxConfigBytes = 1024 * 1024
/** Requests to the hub at the same time */
const concurrency = 6

/** Opens a reader that limits its requests at the same time. */
export function openReader(session: HubSession, repository: HubRepository): RepositoryReader {
  const limit = pLimit(concurrency)
  const byPath = new Map(repository.files.map((file) => [file.path, file]))
  const read = (file: HubFile, start: number, end: number) =>
    limit(() => session.read(repository, file, start, end))
  return {
    repository,
    find: (path) => byPath.get(path),
    open: (file) => ({ size: file.bytes, read: (start, end) => read(file, start, end) }),
    async readConfig(path, maxBytes = maxConfigBytes) {
      const file = byPath.get(path)
      if (file === undefined) return null
      if (file.bytes > maxBytes) throw new InvalidFileError(`${path} is larger than any configuration.`)
      const value = parseJson(await read(file, 0, file.bytes))
      if (!isObject(value)) throw new InvalidFileError(`${path} is not an object.`)
      return value
    },
    async readText(path, maxBytes) {
      const file = byPath.get(path)
      if (file === undefined || file.bytes > maxBytes) return null
      return new TextDecoder().decode(await read(file, 0, file.bytes))
    },
  }
}

/** A variant that no engine can load. */
export function toRefusedVariant(
  format: string,
  quantization: string,
  weightBytes: number,
  reason: string,
): RepositoryVariant {
  return {
    format,
    quantization,
    modelType: 'LLM',
    weightBytes,
    files: [],
    parameters: 0,
    contextTokens: null,
    architecture: null,
    architectureName: null,
    needsArchitecture: false,
    projector: null,
    seesImages: false,
    chatTemplate: null,
    toolTemplate: null,
    lora: null,
    reason,
  }
}

export function sumBytes(files: readonly HubFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Resolves to what `read` resolves to, or to the sentence of an InvalidFileError. */
export async function catchInvalid<Value>(
  read: () => Promise<Value>,
): Promise<{ value: Value } | { reason: string }> {
  try {
    return { value: await read() }
  } catch (error) {
    if (!(error instanceof InvalidFileError)) throw error
    return { reason: error.message.replace(/\.$/, '') }
  }
}
