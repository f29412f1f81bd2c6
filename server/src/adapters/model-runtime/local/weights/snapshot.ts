import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pRetry from 'p-retry'
import { z } from 'zod'
import { DownloadError, RetryableError } from './download-errors.ts'
import { fetchBytes } from './fetch-bytes.ts'
import type { DownloadSource, FetchOptions } from './fetch-bytes.ts'
import { readJson, writeJson } from '../files.ts'
import type { RetrySettings } from '../settings.ts'

/** A file of a Hugging Face repository. */
export interface SnapshotFile {
  /** Path inside the repository */
  file: string
  bytes: number
  /** null for small files, whose checksums the Hub doesn't list */
  sha256: string | null
  /** Changes with the contents; null when the Hub doesn't say */
  version: string | null
}

/** The name can't be that of a weight file, because these don't start with a dot. */
const listingFile = '.berth-files.json'
const maxListingBytes = 16 * 2 ** 20

const filesSchema = z.array(
  z.object({
    file: z.string(),
    bytes: z.int().min(0),
    sha256: z.string().nullable(),
    version: z.string().nullable(),
  }),
)
const repositorySchema = z.object({
  siblings: z.array(
    z.object({
      rfilename: z.string(),
      size: z.int().min(0),
      blobId: z.string().optional(),
      lfs: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }).nullish(),
    }),
  ),
})

/** The files of a repository as an earlier call to `fetchSnapshot` has recorded them; null if none has. */
export async function readSnapshot(folder: string): Promise<SnapshotFile[] | null> {
  const listing = filesSchema.safeParse((await readJson(join(folder, listingFile)))?.['files'])
  return listing.success ? listing.data : null
}

/** Asks the Hub at `source` for a repository's files, and records those to load. Throws DownloadError. */
export async function fetchSnapshot(
  folder: string,
  source: DownloadSource,
  options: FetchOptions & { retry: RetrySettings },
): Promise<SnapshotFile[]> {
  const repository = repositorySchema.safeParse(await fetchListing(source, options))
  const files = repository.success ? selectFiles(repository.data.siblings) : []
  if (files.length === 0) {
    throw new DownloadError(
      'model_not_found',
      `The repository ${source.name} contains no weights that this engine can load.`,
    )
  }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await discardChanged(folder, files)
  await writeJson(join(folder, listingFile), { files })
  return files
}

/** Deletes files that have changed at the Hub, so that a folder never mixes two versions. */
async function discardChanged(folder: string, files: readonly SnapshotFile[]): Promise<void> {
  const versions = new Map((await readSnapshot(folder))?.map(({ file, version }) => [file, version]))
  for (const { file, version } of files) {
    if (versions.has(file) && versions.get(file) !== version) await rm(join(folder, file), { force: true })
  }
}

async function fetchListing(
  source: DownloadSource,
  options: FetchOptions & { retry: RetrySettings },
): Promise<unknown> {
  const { signal, retry } = options
  try {
    return await pRetry(() => fetchJson(source, options), {
      signal,
      retries: retry.attempts - 1,
      minTimeout: retry.baseDelayMs,
      shouldRetry: ({ error }) => !(error instanceof DownloadError),
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof DownloadError) throw error
    const reason = error instanceof RetryableError ? error.message : 'The Hub sent an invalid response.'
    throw new DownloadError('download_failed', reason)
  }
}

async function fetchJson(source: DownloadSource, options: FetchOptions): Promise<unknown> {
  const { body } = await fetchBytes(source, 0, null, options)
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    pieces.push(piece)
    size += piece.length
    if (size > maxListingBytes)
      throw new DownloadError('download_failed', `The file list of ${source.name} is too long.`)
  }
  return JSON.parse(Buffer.concat(pieces).toString())
}

/** Selects the configuration and the weights: safetensors, else PyTorch files. */
export function selectFiles(siblings: z.output<typeof repositorySchema>['siblings']): SnapshotFile[] {
  const names = siblings.map(({ rfilename }) => rfilename)
  const isWeight = (name: string) => name.endsWith('.safetensors') && !/(^|\/)consolidated/.test(name)
  const weights = names.some(isWeight)
    ? isWeight
    : names.some((name) => name.endsWith('.safetensors'))
      ? (name: string) => name.endsWith('.safetensors')
      : (name: string) => /(^|\/)pytorch_model.*\.bin$/.test(name)
  if (!names.some(weights)) return []
  return siblings
    .filter(({ rfilename: name }) => !/^(onnx|openvino|original|metal|coreml)\//.test(name))
    .filter(({ rfilename: name }) => weights(name) || /\.(json|txt|model|jinja|tiktoken)$/.test(name))
    .map(({ rfilename, size, blobId, lfs }) => {
      const sha256 = lfs?.sha256 ?? null
      return { file: rfilename, bytes: size, sha256, version: sha256 ?? blobId ?? null }
    })
}
