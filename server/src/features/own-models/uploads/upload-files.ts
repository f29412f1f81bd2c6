/** Uploads: in `DATA_DIR/models/uploads` until complete, then once per content in the model store. */

import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { locateModelFolder } from '../../../base/model-files.ts'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'

/** The path of an upload's bytes until it is complete. */
export function locatePart(dataDirectory: string, id: string): string {
  return join(locatePartFolder(dataDirectory), id)
}

function locatePartFolder(dataDirectory: string): string {
  return join(locateModelFolder(dataDirectory), 'uploads')
}

/** Opens the file of an upload to write at any position, and creates it if it does not exist. */
export async function openPart(dataDirectory: string, id: string): Promise<FileHandle> {
  await mkdir(locatePartFolder(dataDirectory), { recursive: true, mode: 0o700 })
  const path = locatePart(dataDirectory, id)
  try {
    return await open(path, 'wx+', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return open(path, 'r+')
  }
}

export async function removePart(dataDirectory: string, id: string): Promise<void> {
  await rm(locatePart(dataDirectory, id), { force: true })
}

/** Returns a function that reads the bytes of a file between two positions. */
export function toReader(
  file: Pick<FileHandle, 'read'>,
): (start: number, end: number) => Promise<Uint8Array> {
  return async (start, end) => {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(end - start), 0, end - start, start)
    return buffer.subarray(0, bytesRead)
  }
}

/** How many bytes of an upload are on the disk; null without a file. */
export async function measurePart(dataDirectory: string, id: string): Promise<number | null> {
  return stat(locatePart(dataDirectory, id)).then(
    ({ size }) => size,
    () => null,
  )
}

/** The ids of uploads that have a file on the disk. */
export async function listParts(dataDirectory: string): Promise<string[]> {
  try {
    return await readdir(locatePartFolder(dataDirectory))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Runs `work` in a transaction that keeps others from storing or removing the file with this content. */
export async function holdContent<Value>(
  db: Database,
  sha256: string,
  work: (transaction: DatabaseTransaction) => Promise<Value>,
): Promise<Value> {
  return db.transaction().execute(async (transaction) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`model file ${sha256}`}, 0))`.execute(
      transaction,
    )
    return work(transaction)
  })
}

/** Removes the file with this content if no upload or model needs it. */
export async function removeUnneededContent(
  { db, modelStore }: Pick<Services, 'db' | 'modelStore'>,
  sha256: string,
): Promise<void> {
  await holdContent(db, sha256, async (transaction) => {
    const query = transaction.selectFrom('model_uploads').select('id').where('sha256', '=', sha256)
    if ((await query.executeTakeFirst()) !== undefined) return
    await modelStore.remove(sha256)
  })
}
