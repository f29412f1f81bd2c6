import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canReach, type Account } from './account.ts'
import { EmbeddedDatabaseError, messageOf, systemErrorCode, useOwnDatabase } from './error.ts'

const pointerName = 'postgres-location'

/** Where the database of one DATA_DIR lives; `pointer` is the file that says so when that is elsewhere. */
export interface Home {
  directory: string
  pointer: string | undefined
}

/**
 * Finds or picks the folder of the cluster, its log and its locks, and creates it. That is `DATA_DIR/postgres`, unless
 * the account can't get there (a DATA_DIR under /root): then a folder of `stateDirectory`.
 */
export async function locateHome(
  dataDirectory: string,
  stateDirectory: string,
  account: Account | undefined,
): Promise<Home> {
  const real = await createFolder(dataDirectory, 'DATA_DIR')
  const inside = join(real, 'postgres')
  const pointer = join(real, pointerName)
  const key = createHash('sha256').update(real).digest('hex').slice(0, 12)
  const outside = join(stateDirectory, key)

  if (existsSync(join(inside, 'cluster'))) return { directory: inside, pointer: undefined }
  const target = await readPointer(pointer)
  if (target !== undefined) {
    if (existsSync(join(target, 'cluster'))) return { directory: target, pointer }
    throw new EmbeddedDatabaseError(
      `${pointer} says that the database of this DATA_DIR is in ${target}, and there is none: bring that folder back, ` +
        `or remove ${pointer} to begin with an empty database`,
    )
  }
  if (!account) {
    await createFolder(inside, 'The database folder', 0o700)
    return { directory: inside, pointer: undefined }
  }
  if (!existsSync(join(outside, 'cluster')) && (await canReach(real, account))) {
    await createFolder(inside, 'The database folder', 0o755)
    return { directory: inside, pointer: undefined }
  }
  await createFolder(stateDirectory, 'The state folder', 0o755)
  await createFolder(outside, 'The database folder', 0o755)
  return { directory: outside, pointer }
}

/** Notes in DATA_DIR where its database is; done only once the database exists. */
export async function writePointer(home: Home): Promise<void> {
  if (!home.pointer || existsSync(home.pointer)) return
  const fresh = `${home.pointer}.${process.pid}`
  await writeFile(fresh, `${home.directory}\n`)
  await rename(fresh, home.pointer)
}

async function readPointer(pointer: string): Promise<string | undefined> {
  try {
    return (await readFile(pointer, 'utf8')).trim()
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw new EmbeddedDatabaseError(`${pointer} can't be read: ${messageOf(error)}`, { cause: error })
  }
}

async function createFolder(path: string, what: string, mode?: number): Promise<string> {
  try {
    const created = await mkdir(path, { recursive: true })
    if (created !== undefined && mode !== undefined) await chmod(path, mode)
    return await realpath(path)
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `${what} ${path} can't be created (${messageOf(cause)}): let the user that runs Berth write there, choose another ` +
        `DATA_DIR, ${useOwnDatabase}`,
      { cause },
    )
  }
}
