import { open } from 'node:fs/promises'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { ModelHubError } from '../../ports/model-hub.ts'
import type { Services } from '../../services.ts'
import { InvalidFileError } from './files/byte-cursor.ts'
import type { ByteSource } from './files/byte-cursor.ts'
import { readTensorShapes } from './files/gguf-header.ts'
import type { Tensor } from './files/safetensors-header.ts'
import { ggufFormat } from './facts/formats.ts'
import type { BaseShapes } from './facts/lora-misfit.ts'
import { findWeightToken } from './hub-tokens.ts'
import { readWeightTensors } from './read-safetensors.ts'
import { openReader } from './repository-reader.ts'
import { toReader } from './uploads/upload-files.ts'

export type BaseDeps = Pick<Services, 'db' | 'hub' | 'modelStore' | 'secretKey'>

/** The shapes of a variant's tensors, from its headers; null if they can't be read at the moment. */
export async function readBaseShapes(
  deps: BaseDeps,
  organizationId: number | null,
  { format, weights }: Pick<ModelVariant, 'format' | 'weights'>,
): Promise<BaseShapes | null> {
  const isGguf = format === ggufFormat
  try {
    if (weights.kind === 'file') return isGguf ? await readFileShapes(weights.path) : null
    if (weights.kind === 'upload') return await readUploadShapes(deps, weights.sha256)
    if (weights.kind === 'url' || weights.kind === 'endpoint') return null
    const token = organizationId === null ? null : await findWeightToken(deps, organizationId, weights)
    const session = deps.hub.open(token ?? null)
    const repository = await session.describe(weights.repo, weights.revision)
    const reader = openReader(session, repository)
    if (!isGguf) return toShapes(await readWeightTensors(reader))
    const files = weights.files.map((path) => reader.find(path))
    if (files.length === 0 || files.includes(undefined)) return null
    const parts = await Promise.all(files.map((file) => readTensorShapes(reader.open(file!))))
    return new Map(parts.flatMap((part) => [...part]))
  } catch (error) {
    if (error instanceof ModelHubError || error instanceof InvalidFileError) return null
    throw error
  }
}

/** Types of tensors with a number for each weight, whose shapes are those of the matrices */
const plainTypes = /^(?:F64|F32|F16|BF16|F8_)/

function toShapes(tensors: readonly Tensor[]): BaseShapes {
  return new Map(
    tensors.map(({ name, type, shape }) => [
      name,
      plainTypes.test(type) ? [shape.at(-1) ?? 0, shape.at(-2) ?? 0] : null,
    ]),
  )
}

async function readFileShapes(path: string): Promise<BaseShapes | null> {
  const file = await open(path).catch(() => null)
  if (file === null) return null
  try {
    return await readTensorShapes({ size: (await file.stat()).size, read: toReader(file) })
  } finally {
    await file.close()
  }
}

async function readUploadShapes(
  { modelStore }: Pick<Services, 'modelStore'>,
  sha256: string,
): Promise<BaseShapes | null> {
  const size = await modelStore.measure(sha256)
  if (size === null) return null
  const read: ByteSource['read'] = async (start, end) =>
    Buffer.concat(await (await modelStore.read(sha256, { start, end })).toArray())
  return readTensorShapes({ size, read })
}
