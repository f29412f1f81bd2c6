import type { FileHandle } from 'node:fs/promises'
import { ApplicationError } from '../../../base/errors.ts'
import type { ErrorCode } from '../../../base/error-codes.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { Services } from '../../../services.ts'
import { finishUpload } from './finish-upload.ts'
import { assertFits, PartWriter, pour } from './part-writer.ts'
import type { Part } from './part-writer.ts'
import { assertHere, readFolderId } from './part-folder.ts'
import { readUploadedVariant } from './read-header.ts'
import { discardUpload } from './remove-upload.ts'
import { requireUploads } from './require-uploads.ts'
import { measurePart, openPart, toReader } from './upload-files.ts'
import { locked, withWriteLease } from './write-lease.ts'
import type { ModelUpload, WriteLease } from './write-lease.ts'

export type ReceiveDeps = Pick<Services, 'db' | 'clock' | 'config' | 'runtimes' | 'fileHasher' | 'modelStore'>

/** More than any header may have */
const headerBytes = 64 * 1024 * 1024
const useless: readonly ErrorCode[] = ['not_gguf', 'unsupported_architecture', 'no_runnable_weights']

/**
 * Writes a part; resolves to the new offset. Bytes without a checksum count as they arrive, so that a broken
 * connection loses nothing. The last part finishes the upload. Removes uploads that no engine can load.
 */
export async function receivePart(
  deps: ReceiveDeps,
  { organizationId }: Pick<Viewer, 'organizationId'>,
  id: string,
  part: Part,
  stop: AbortSignal,
): Promise<number> {
  requireUploads(deps)
  return withWriteLease(deps, { organizationId, id }, stop, async (lease) => {
    const { upload } = lease
    try {
      if (upload.sha256 === null) await writePart(deps, lease, part)
      else assertOffset(part.offset, upload.bytes)
      const received = await lease.sync()
      if (received === upload.bytes) await finishUpload(deps, lease)
      return received
    } catch (error) {
      if (error instanceof ApplicationError && useless.includes(error.code)) await discardUpload(deps, upload)
      throw lease.signal.aborted ? locked() : error
    }
  })
}

async function writePart(deps: ReceiveDeps, lease: WriteLease, part: Part): Promise<void> {
  const { upload } = lease
  const { dataDirectory } = deps.config
  const folder = await readFolderId(deps)
  if (upload.received > 0) assertHere(upload, folder)
  // A disk that was restored from a backup may lack bytes.
  const present = (await measurePart(dataDirectory, upload.id)) ?? 0
  const received = Math.min(upload.received, present)
  lease.sync = async () => received
  if (folder !== null && upload.folder !== folder) await lease.save({ folder })
  else if (received < upload.received) await lease.save()
  assertOffset(part.offset, received)
  assertFits(part.offset + part.length, upload.bytes)
  const file = await openPart(dataDirectory, upload.id)
  const writer = new PartWriter(file, part)
  lease.sync = () => writer.sync()
  try {
    const check = openHeaderCheck(deps, upload, file, part.offset)
    await pour(part.body, lease.signal, async (chunk) => {
      lease.assertValid()
      await writer.write(chunk, upload.bytes)
      await check(writer.verified)
    })
    writer.verify()
    await check(writer.verified)
    await lease.save()
  } catch (error) {
    // What arrived before the failure counts, if the lease lasts.
    await lease.save().catch(() => {})
    throw error
  } finally {
    lease.sync = async () => writer.durable
    await file.close()
  }
}

/**
 * Returns a function that reads the header whenever twice as many bytes have arrived, until it is there. The
 * sizes are powers of two, so that many small parts read it no more often than one large one.
 */
export function openHeaderCheck(
  { runtimes: { engines } }: { runtimes: Pick<ReceiveDeps['runtimes'], 'engines'> },
  { bytes, file_name: fileName }: Pick<ModelUpload, 'bytes' | 'file_name'>,
  file: Pick<FileHandle, 'read'>,
  offset: number,
): (received: number) => Promise<void> {
  const read = toReader(file)
  let due = offset < headerBytes ? nextPowerOfTwo(offset) : Infinity
  return async (received) => {
    if (received < due) return
    const variant = await readUploadedVariant({ read, fileName, bytes, received }, engines)
    due = variant === null ? nextPowerOfTwo(received) : Infinity
  }
}

/** The least power of two above a number of bytes */
function nextPowerOfTwo(bytes: number): number {
  return bytes === 0 ? 1 : 2 ** (Math.floor(Math.log2(bytes)) + 1)
}

function assertOffset(given: number, received: number): void {
  if (given === received) return
  const message = `The upload has ${received} bytes, but Upload-Offset is ${given}. Ask for the offset with HEAD, then go on from there.`
  throw new ApplicationError('upload_offset_mismatch', message)
}
