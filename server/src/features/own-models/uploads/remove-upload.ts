import { sql } from 'kysely'
import { ApplicationError, NotFoundError } from '../../../base/errors.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import { recordAction } from '../../audit/record-action.ts'
import { holdMembership } from '../../organizations/memberships.ts'
import { sweepParts } from './sweep-parts.ts'
import { removePart, removeUnneededContent } from './upload-files.ts'

type RemoveDeps = Pick<Services, 'db' | 'config' | 'modelStore'>
type Removed = { id: string; sha256: string | null }

/** Removes an upload of the viewer's organization that no model uses, with its file. Throws `not_found`. */
export async function removeUpload(deps: RemoveDeps, viewer: Viewer, id: string): Promise<void> {
  const removed = await deps.db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    const upload = await transaction
      .deleteFrom('model_uploads')
      .where('id', '=', id)
      .where('organization_id', '=', viewer.organizationId)
      .where('status', '!=', 'used')
      .returning(['id', 'sha256', 'file_name'])
      .executeTakeFirst()
    if (upload === undefined) throw new NotFoundError('Upload not found.')
    await recordAction(transaction, viewer, 'model.upload_deleted', {
      target: { type: 'model', id, name: upload.file_name },
    })
    return upload
  })
  await removeFiles(deps, [removed])
}

/** Removes a useless upload. */
export async function discardUpload(deps: RemoveDeps, { id }: Pick<Removed, 'id'>): Promise<void> {
  const removed = await deps.db
    .deleteFrom('model_uploads')
    .where('id', '=', id)
    .where('status', '!=', 'used')
    .returning(['id', 'sha256'])
    .execute()
  await removeFiles(deps, removed)
}

/** Removes the rows of a model's uploads. After its transaction, the caller must call `removeFiles`. */
export async function forgetUploads(transaction: DatabaseTransaction, modelId: string): Promise<Removed[]> {
  return transaction
    .deleteFrom('model_uploads')
    .where('model_id', '=', modelId)
    .returning(['id', 'sha256'])
    .execute()
}

/** Removes the files of uploads without rows, unless another upload has the same content. */
export async function removeFiles(deps: RemoveDeps, removed: readonly Removed[]): Promise<void> {
  for (const { id, sha256 } of removed) {
    await removePart(deps.config.dataDirectory, id)
    if (sha256 === null) continue
    await removeUnneededContent(deps, sha256).catch((error: unknown) => {
      // The sweep tries again.
      if (!(error instanceof ApplicationError && error.code === 'model_store_unavailable')) throw error
    })
  }
}

/** Removes expired uploads, and files that a crash left without an upload or model. */
export async function sweepUploads(deps: RemoveDeps & Pick<Services, 'clock'>): Promise<void> {
  const { db, clock, modelStore } = deps
  const expired = await db
    .deleteFrom('model_uploads')
    .where('status', '!=', 'used')
    .where('expires_at', '<', clock())
    .where(sql<boolean>`coalesce(leased_until, '-infinity') < now()`)
    .returning(['id', 'sha256'])
    .execute()
  await removeFiles(deps, expired)
  await sweepParts(deps)
  for (const sha256 of await modelStore.list()) await removeUnneededContent(deps, sha256)
}
