import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { ApplicationError, NotFoundError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import type { ModelUploadsTable } from '../tables.ts'

export type ModelUpload = Selectable<ModelUploadsTable>

/** An upload that has received nothing for this long expires. */
export const expiryMilliseconds = 24 * 3_600_000
const leaseSeconds = 6
const renewalMilliseconds = 2_000

type UploadChanges = { sha256?: string; folder?: string }

/** A request's right to write to an upload. It expires, so that a killed process soon blocks no others. */
export interface WriteLease {
  /** The upload when the lease began, with the saved changes */
  upload: ModelUpload
  /** Aborts when the lease is lost or the request must end */
  signal: AbortSignal
  /** Throws unless the lease is still valid. */
  assertValid(): void
  /** Called for each renewal: makes bytes durable and resolves to their number. */
  sync: () => Promise<number>
  /** Renews the lease and stores changes and the durable bytes. Throws `upload_locked` without it. */
  save(changes?: UploadChanges): Promise<void>
}

type Deps = Pick<Services, 'db' | 'clock'>

/** Runs `work` with an upload's lease. Throws `not_found`, and `upload_locked` if another request has it. */
export async function withWriteLease<Value>(
  deps: Deps,
  { organizationId, id }: { organizationId: number; id: string },
  stop: AbortSignal,
  work: (lease: WriteLease) => Promise<Value>,
): Promise<Value> {
  const writer = randomUUID()
  let validFrom = performance.now()
  const upload = await takeLease(deps, organizationId, id, writer)
  const lost = new AbortController()
  let saving: Promise<void> = Promise.resolve()
  const lease: WriteLease = {
    upload,
    signal: AbortSignal.any([stop, lost.signal]),
    assertValid() {
      if (lease.signal.aborted || performance.now() - validFrom > leaseSeconds * 1000) throw locked()
    },
    sync: async () => upload.received,
    save(changes = {}) {
      const save = async () => {
        const at = performance.now()
        const received = await lease.sync()
        if (!(await renewLease(deps, upload.id, writer, { ...changes, received }))) {
          lost.abort()
          throw locked()
        }
        Object.assign(upload, changes)
        validFrom = at
      }
      saving = saving.then(save, save)
      return saving
    },
  }
  const timer = setInterval(() => {
    // An expired lease, a full disk and an unreachable database show at the next write.
    lease.save().catch(() => {})
  }, renewalMilliseconds)
  try {
    return await work(lease)
  } finally {
    clearInterval(timer)
    await saving.catch(() => {})
    // Without the database, the lease ends by itself.
    await endLease(deps, id, writer).catch(() => {})
  }
}

async function takeLease(
  { db }: Deps,
  organizationId: number,
  id: string,
  writer: string,
): Promise<ModelUpload> {
  const taken = await db
    .updateTable('model_uploads')
    .set({ writer, leased_until: sql`now() + make_interval(secs => ${leaseSeconds})` })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .where('status', '!=', 'used')
    .where(sql<boolean>`coalesce(leased_until, '-infinity') < now()`)
    .returningAll()
    .executeTakeFirst()
  if (taken !== undefined) return taken
  await findUpload({ db }, organizationId, id)
  throw locked()
}

async function renewLease(
  { db, clock }: Deps,
  id: string,
  writer: string,
  changes: UploadChanges & { received: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('model_uploads')
    .set({
      ...changes,
      leased_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
      expires_at: new Date(clock().getTime() + expiryMilliseconds),
    })
    .where('id', '=', id)
    .where('writer', '=', writer)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

async function endLease({ db }: Deps, id: string, writer: string): Promise<void> {
  await db
    .updateTable('model_uploads')
    .set({ writer: null, leased_until: null })
    .where('id', '=', id)
    .where('writer', '=', writer)
    .execute()
}

/** Resolves to an upload of the organization that no model uses yet. Throws `not_found`. */
export async function findUpload(
  { db }: Pick<Services, 'db'>,
  organizationId: number,
  id: string,
): Promise<ModelUpload> {
  const upload = await db
    .selectFrom('model_uploads')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .where('status', '!=', 'used')
    .executeTakeFirst()
  if (upload === undefined) throw new NotFoundError('Upload not found.')
  return upload
}

export function locked(): ApplicationError {
  return new ApplicationError('upload_locked', 'Another request writes to the upload. Try again in a moment.')
}
