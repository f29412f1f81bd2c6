import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFile } from '../../base/file-lock.ts'

const folderName = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const lockName = 'lock'

/** The folder of one process's journal files, which is locked until the process dies. */
export interface JournalFolder {
  path: string
  /** Ends the lock. Removes the folder, unless journal files are left for another process. */
  close(): Promise<void>
}

/** Creates the folder of this process in `parent`. */
export async function createJournalFolder(parent: string): Promise<JournalFolder> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const id = randomUUID()
  // Others see the folder only when it is locked.
  const hidden = join(parent, `.${id}`)
  await mkdir(hidden, { mode: 0o700 })
  const lock = await lockFile(join(hidden, lockName))
  if (lock === undefined) throw new Error(`Another process locks ${hidden}`)
  const path = join(parent, id)
  await rename(hidden, path)
  return toFolder(path, lock)
}

/** The locked folders of ended processes. */
export async function* takeAbandonedFolders(
  parent: string,
  own: JournalFolder,
): AsyncGenerator<JournalFolder> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name)
    if (!folderName.test(name) || path === own.path) continue
    try {
      const lock = await lockFile(join(path, lockName))
      if (lock !== undefined) yield toFolder(path, lock)
    } catch (error) {
      // Another process has just removed it.
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
}

function toFolder(path: string, lock: FileHandle): JournalFolder {
  return {
    path,
    async close() {
      try {
        const files = await readdir(path)
        if (files.some((file) => file !== lockName)) return
        await rm(join(path, lockName), { force: true })
        await rmdir(path)
      } catch (error) {
        // Another process has just removed it, or looks at it.
        if (!hasCode(error, 'ENOENT') && !hasCode(error, 'ENOTEMPTY')) throw error
      } finally {
        await lock.close()
      }
    },
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
