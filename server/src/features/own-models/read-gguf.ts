import { readGgufHeader } from './files/gguf-header.ts'
import type { GgufHeader } from './files/gguf-header.ts'
import { ggufLoraFormat, ggufFormat } from './facts/formats.ts'
import { readGgufFacts } from './facts/gguf-facts.ts'
import { listGgufVariants } from './facts/gguf-variants.ts'
import type { GgufVariant } from './facts/gguf-variants.ts'
import { catchInvalid, toRefusedVariant } from './repository-reader.ts'
import type { RepositoryReader, RepositoryVariant } from './repository-reader.ts'

/** More parts than any published model has */
const maxParts = 99

/** Reads the facts of all quantizations from the smallest, because headers take several megabytes. */
export async function readGgufVariants(reader: RepositoryReader): Promise<RepositoryVariant[]> {
  const { variants, projector } = listGgufVariants(reader.repository.files)
  const smallest = variants.findLast(({ reason, files }) => reason === null && files.length <= maxParts)
  if (smallest === undefined)
    return variants.map((variant) => refuse(variant, variant.reason ?? 'Too many parts'))
  const read = await catchInvalid(() => readFacts(reader, smallest))
  if ('reason' in read) return variants.map((variant) => refuse(variant, variant.reason ?? read.reason))
  const { facts, parameters } = read.value
  return variants.map(({ quantization, files, bytes, reason }) => ({
    format: facts.lora === null ? ggufFormat : ggufLoraFormat,
    quantization,
    modelType: facts.modelType,
    weightBytes: bytes,
    files: files.map(({ path }) => path),
    parameters,
    contextTokens: facts.contextLength,
    architecture: facts.architecture,
    architectureName: facts.name,
    needsArchitecture: true,
    projector: projector?.path ?? null,
    seesImages: false,
    chatTemplate: facts.chatTemplate,
    lora: facts.lora,
    reason,
  }))
}

function refuse({ quantization, bytes }: GgufVariant, reason: string): RepositoryVariant {
  return toRefusedVariant(ggufFormat, quantization, bytes, reason)
}

async function readFacts(reader: RepositoryReader, { files }: GgufVariant) {
  const headers: GgufHeader[] = []
  for (const file of files) headers.push(await readGgufHeader(reader.open(file)))
  const parameters = headers.reduce((sum, header) => sum + header.parameters, 0)
  return { parameters, facts: readGgufFacts(headers[0]!, parameters) }
}
