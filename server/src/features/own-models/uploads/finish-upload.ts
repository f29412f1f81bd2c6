import { open } from 'node:fs/promises'
import { ApplicationError, NotFoundError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import { assertHere, isHere, readFolderId } from './part-folder.ts'
import { readUploadedVariant } from './read-header.ts'
import { discardUpload } from './remove-upload.ts'
import {
  holdContent,
  locatePart,
  measurePart,
  removePart,
  removeUnneededContent,
  toReader,
} from './upload-files.ts'
import type { ModelUpload, WriteLease } from './write-lease.ts'

type FinishDeps = Pick<Services, 'db' | 'clock' | 'config' | 'runtimes' | 'fileHasher' | 'modelStore'>

/**
 * Checks and stores a complete upload. Can be repeated after a crash, without the bytes too once the file is
 * stored. Throws `checksum_mismatch`, `upload_elsewhere`, and like `readUploadedVariant` and `ModelStore`.
 */
export async function finishUpload(deps: FinishDeps, lease: WriteLease): Promise<void> {
  const { upload } = lease
  if (upload.status !== 'receiving') return
  const { db, config } = deps
  const isPart =
    isHere(upload, await readFolderId(deps)) && (await measurePart(config.dataDirectory, upload.id)) !== null
  const sha256 = isPart ? await checkPart(deps, lease) : upload.sha256
  if (sha256 === null) throw await toLost(deps, upload)
  // The row names the content before the file is stored, so that no file is without a row.
  if (upload.sha256 !== sha256) await lease.save({ sha256 })
  // Waits for a removal of the same content that did not see the row. Later ones see it.
  await holdContent(db, sha256, async () => {})
  await storePart(deps, lease, sha256, isPart)
  const { numUpdatedRows } = await db
    .updateTable('model_uploads')
    .set({ status: 'complete', received: upload.bytes, folder: null })
    .where('id', '=', upload.id)
    .where('status', '=', 'receiving')
    .executeTakeFirst()
  await removePart(config.dataDirectory, upload.id)
  if (numUpdatedRows === 1n) return
  await removeUnneededContent(deps, sha256)
  throw new NotFoundError('Upload not found.')
}

/** Stores the file of a part, unless the same content is stored already. */
async function storePart(
  deps: FinishDeps,
  lease: WriteLease,
  sha256: string,
  isPart: boolean,
): Promise<void> {
  const { modelStore, config } = deps
  if ((await modelStore.measure(sha256)) === lease.upload.bytes) return
  if (!isPart) throw await toLost(deps, lease.upload)
  lease.assertValid()
  await modelStore.put(sha256, locatePart(config.dataDirectory, lease.upload.id), lease.signal)
}

async function checkPart(deps: FinishDeps, { upload, signal }: WriteLease): Promise<string> {
  const { id, bytes, file_name: fileName, announced_hash: announced } = upload
  const path = locatePart(deps.config.dataDirectory, id)
  const file = await open(path)
  try {
    await readUploadedVariant(
      { read: toReader(file), fileName, bytes, received: bytes },
      deps.runtimes.engines,
    )
  } finally {
    await file.close()
  }
  const sha256 = await deps.fileHasher.hash(path, signal)
  if (announced === null || announced === sha256) return sha256
  await discardUpload(deps, upload)
  const message = `The file has the SHA-256 ${sha256}, but ${announced} was announced. The upload was removed; upload the file again.`
  throw new ApplicationError('checksum_mismatch', message)
}

/** Throws `upload_elsewhere` if another server has the bytes. */
async function toLost(deps: FinishDeps, upload: ModelUpload): Promise<NotFoundError> {
  assertHere(upload, await readFolderId(deps))
  await discardUpload(deps, upload)
  return new NotFoundError('The bytes of the upload are lost. Upload the file again.')
}
