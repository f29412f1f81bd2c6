import { mkdir, statfs } from 'node:fs/promises'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { ApplicationError } from '../../../base/errors.ts'
import { locateModelFolder } from '../../../base/model-files.ts'
import { formatFileSize } from '../../../base/format-bytes.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import { recordAction } from '../../audit/record-action.ts'
import { holdMembership } from '../../organizations/memberships.ts'
import { readFolderId } from './part-folder.ts'
import { requireUploads } from './require-uploads.ts'
import type { AnnouncedFile } from './tus.ts'
import { expiryMilliseconds } from './write-lease.ts'
import type { ModelUpload } from './write-lease.ts'

type StartDeps = Pick<Services, 'db' | 'clock' | 'config' | 'runtimes'>

/** Most uploads of an organization that no model uses */
const maxOpenUploads = 100

/** Throws like `requireUploads`, `uploads_not_supported`, `upload_too_large`, quota and disk errors. */
export async function startUpload(
  deps: StartDeps,
  viewer: Viewer,
  { fileName, bytes, sha256 }: AnnouncedFile,
): Promise<ModelUpload> {
  const { db, clock, config, runtimes } = deps
  const { maxBytes } = config.uploads
  const quotaBytes = requireUploads(deps)
  if (!runtimes.loadsUploads) {
    const message =
      'The compute backend of this server can not load uploaded files. Add a repository of the Hub instead.'
    throw new ApplicationError('uploads_not_supported', message)
  }
  if (bytes > maxBytes) {
    const message = `The file has ${formatFileSize(bytes)}, but an upload may have at most ${formatFileSize(maxBytes)}.`
    throw new ApplicationError('upload_too_large', message)
  }
  await assertRoom(deps, viewer.organizationId, bytes)
  return db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    await assertQuota(transaction, viewer.organizationId, bytes, quotaBytes)
    const createdAt = clock()
    const upload = await transaction
      .insertInto('model_uploads')
      .values({
        id: uuidv7(),
        organization_id: viewer.organizationId,
        file_name: fileName,
        bytes,
        announced_hash: sha256,
        created_at: createdAt,
        expires_at: new Date(createdAt.getTime() + expiryMilliseconds),
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    await recordAction(transaction, viewer, 'model.upload_started', {
      target: { type: 'model', id: upload.id, name: fileName },
      details: { bytes },
    })
    return upload
  })
}

/** What an arriving upload of another organization keeps free, at most: as much as has arrived */
const reservedAhead = 256 * 2 ** 20
/** Without a byte for so long, an upload keeps nothing free for other organizations. */
const activeMilliseconds = 10 * 60_000

/**
 * Counts what unfinished uploads of the organization still need. Those of others keep free as much as has
 * arrived, so that announcements alone can't reserve the disk.
 */
async function assertRoom(
  deps: Pick<Services, 'db' | 'config' | 'clock'>,
  organizationId: number,
  bytes: number,
): Promise<void> {
  const { db, config, clock } = deps
  const folder = locateModelFolder(config.dataDirectory)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const folderId = await readFolderId(deps)
  // Each byte renews the expiry.
  const activeSince = new Date(clock().getTime() + expiryMilliseconds - activeMilliseconds)
  const { missing } = await db
    .selectFrom('model_uploads')
    .select(
      sql<number>`coalesce(sum(CASE
        WHEN organization_id = ${organizationId} THEN bytes - received
        WHEN received > 0 AND expires_at > ${activeSince} THEN least(bytes - received, received, ${reservedAhead})
        ELSE 0 END), 0)::bigint`.as('missing'),
    )
    .where('status', '=', 'receiving')
    .where((where) => where.or([where('folder', 'is', null), where('folder', '=', folderId)]))
    .executeTakeFirstOrThrow()
  await assertDiskRoom(folder, bytes + missing)
}

/** The share of the disk that uploads leave to the database and others */
const diskReserve = 0.05

/** Throws `storage_full` if uploads may not write so many bytes to the disk of a folder. */
export async function assertDiskRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(folder)
  if (bytes <= (bavail - blocks * diskReserve) * bsize) return
  const message =
    'The disk of the server has no room for the file. Retry when its operator has freed some space.'
  throw new ApplicationError('storage_full', message, 60)
}

/** Uploads of one organization start one after the other, so that they can't exceed the quota together. */
async function assertQuota(
  transaction: DatabaseTransaction,
  organizationId: number,
  bytes: number,
  quotaBytes: number,
): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtext('model uploads'), ${organizationId}::int)`.execute(
    transaction,
  )
  const { used, open } = await transaction
    .selectFrom('model_uploads')
    .select([
      sql<number>`coalesce(sum(bytes), 0)::bigint`.as('used'),
      sql<number>`count(*) FILTER (WHERE status <> 'used')`.as('open'),
    ])
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  if (open >= maxOpenUploads) {
    const message = `The organization has ${open} uploads that no model uses. Remove some of them first.`
    throw new ApplicationError('upload_quota_exceeded', message)
  }
  if (used + bytes <= quotaBytes) return
  const message =
    `The uploads of the organization take ${formatFileSize(used)} of ${formatFileSize(quotaBytes)}, so ` +
    `${formatFileSize(bytes)} more do not fit. Remove uploads or models that nobody needs.`
  throw new ApplicationError('upload_quota_exceeded', message)
}
