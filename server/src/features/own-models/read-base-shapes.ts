import { open } from 'node:fs/promises'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { ModelHubError } from '../../ports/model-hub.ts'
import type { Services } from '../../services.ts'
import { InvalidFileError } from './files/byte-cursor.ts'
import type { ByteSource } from './files/byte-cursor.ts'
import { readTensorShapes } from './files/gguf-header.ts'
import type { TensorShapes } from './facts/lora-facts.ts'
import { findWeightToken } from './hub-tokens.ts'
import { openReader } from './repository-reader.ts'
import { toReader } from './uploads/upload-files.ts'

export type BaseDeps = Pick<Services, 'db' | 'hub' | 'modelStore' | 'secretKey'>

/** The shapes of a GGUF variant's tensors, from its headers; null if they can't be read at the moment. */
export async function readBaseShapes(
  deps: BaseDeps,
  organizationId: number | null,
  { weights }: Pick<ModelVariant, 'weights'>,
): Promise<TensorShapes | null> {
  try {
    if (weights.kind === 'file') return await readFileShapes(weights.path)
    if (weights.kind === 'upload') return await readUploadShapes(deps, weights.sha256)
    if (weights.kind === 'url') return null
    const token = organizationId === null ? null : await findWeightToken(deps, organizationId, weights)
    const session = deps.hub.open(token ?? null)
    const repository = await session.describe(weights.repo, weights.revision)
    const reader = openReader(session, repository)
    const files = weights.files.map((path) => reader.find(path))
    if (files.length === 0 || files.includes(undefined)) return null
    const parts = await Promise.all(files.map((file) => readTensorShapes(reader.open(file!))))
    return new Map(parts.flatMap((part) => [...part]))
  } catch (error) {
    if (error instanceof ModelHubError || error instanceof InvalidFileError) return null
    throw error
  }
}

async function readFileShapes(path: string): Promise<TensorShapes | null> {
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
): Promise<TensorShapes | null> {
  const size = await modelStore.measure(sha256)
  if (size === null) return null
  const read: ByteSource['read'] = async (start, end) =>
    Buffer.concat(await (await modelStore.read(sha256, { start, end })).toArray())
  return readTensorShapes({ size, read })
}
