import { open } from 'node:fs/promises'
import { ApplicationError, NotFoundError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import { readUploadedVariant } from './read-header.ts'
import { discardUpload } from './remove-upload.ts'
import { holdContent, locatePart, measurePart, toReader } from './upload-files.ts'
import type { ModelUpload, WriteLease } from './write-lease.ts'

type FinishDeps = Pick<Services, 'db' | 'clock' | 'config' | 'runtime' | 'fileHasher' | 'modelStore'>

/**
 * Checks the bytes of an upload that has arrived completely, and stores its file under the name of its content. May be repeated after a
 * crash at any point. Throws `checksum_mismatch`, and like `readUploadedVariant`.
 */
export async function finishUpload(deps: FinishDeps, lease: WriteLease): Promise<void> {
  const { upload } = lease
  if (upload.status !== 'receiving') return
  const { db, config, modelStore } = deps
  const isPart = (await measurePart(config.dataDirectory, upload.id)) !== null
  const sha256 = isPart ? await checkPart(deps, lease) : upload.sha256
  if (sha256 === null) throw await toLost(deps, upload)
  // The row names the content before the file has its name, so that no file is without a row.
  if (upload.sha256 !== sha256) await lease.save({ sha256 })
  await holdContent(db, sha256, async (transaction) => {
    lease.assertValid()
    const { numUpdatedRows } = await transaction
      .updateTable('model_uploads')
      .set({ status: 'complete', received: upload.bytes })
      .where('id', '=', upload.id)
      .where('status', '=', 'receiving')
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw new NotFoundError('Upload not found.')
    if (isPart) await modelStore.put(sha256, locatePart(config.dataDirectory, upload.id))
  })
}

async function checkPart(deps: FinishDeps, { upload, signal }: WriteLease): Promise<string> {
  const { id, bytes, file_name: fileName, announced_hash: announced } = upload
  const path = locatePart(deps.config.dataDirectory, id)
  const file = await open(path)
  try {
    await readUploadedVariant({ read: toReader(file), fileName, bytes, received: bytes }, deps.runtime.engines)
  } finally {
    await file.close()
  }
  const sha256 = await deps.fileHasher.hash(path, signal)
  if (announced === null || announced === sha256) return sha256
  await discardUpload(deps, upload)
  const message = `The file has the SHA-256 ${sha256}, but ${announced} was announced. The upload was removed; upload the file again.`
  throw new ApplicationError('checksum_mismatch', message)
}

async function toLost(deps: FinishDeps, upload: ModelUpload): Promise<NotFoundError> {
  await discardUpload(deps, upload)
  return new NotFoundError('The bytes of the upload are lost. Upload the file again.')
}
