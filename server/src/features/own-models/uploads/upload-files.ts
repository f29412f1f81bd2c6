/** The bytes of uploads: in `models/uploads` until they are complete, then once per content in `models`. */

import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { locateModelFile, locateModelFolder } from '../../../base/model-files.ts'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'

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

/** Gives a complete upload the name of its content. Replaces a file with the same content. */
export async function keepPart(dataDirectory: string, id: string, sha256: string): Promise<void> {
  await rename(locatePart(dataDirectory, id), locateModelFile(dataDirectory, sha256))
}

/** The size of a file; null if it does not exist. */
export async function measureFile(path: string): Promise<number | null> {
  return stat(path).then(
    ({ size }) => size,
    () => null,
  )
}

/** The ids of uploads and the contents that have files. */
export async function listFiles(dataDirectory: string): Promise<{ ids: string[]; contents: string[] }> {
  const [ids, names] = await Promise.all(
    [locatePartFolder(dataDirectory), locateModelFolder(dataDirectory)].map(listFolder),
  )
  const contents = names!.flatMap((name) => /^([0-9a-f]{64})\.gguf$/.exec(name)?.[1] ?? [])
  return { ids: ids!, contents }
}

async function listFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path)
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
  db: Database,
  dataDirectory: string,
  sha256: string,
): Promise<void> {
  await holdContent(db, sha256, async (transaction) => {
    const query = transaction.selectFrom('model_uploads').select('id').where('sha256', '=', sha256)
    if ((await query.executeTakeFirst()) !== undefined) return
    await rm(locateModelFile(dataDirectory, sha256), { force: true })
  })
}
