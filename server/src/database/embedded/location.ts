import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { canReach, type Account } from './account.ts'
import { EmbeddedDatabaseError, messageOf, systemErrorCode, useOwnDatabase } from './error.ts'

const pointerName = 'postgres-location'
const ownerName = 'data-directory'

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
  const target = await readText(pointer)
  if (target !== undefined) {
    await refuseCopy(real, target)
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

/** Notes in DATA_DIR where its database is, and there whose it is; done only once the database exists. */
export async function writePointer(home: Home): Promise<void> {
  if (!home.pointer) return
  await replaceFile(join(home.directory, ownerName), `${dirname(home.pointer)}\n`)
  await replaceFile(home.pointer, `${home.directory}\n`)
}

async function replaceFile(path: string, text: string): Promise<void> {
  const fresh = `${path}.${process.pid}`
  await writeFile(fresh, text)
  await rename(fresh, path)
}

/** A DATA_DIR may move, but the copy of one must not share the original's database. */
async function refuseCopy(dataDirectory: string, target: string): Promise<void> {
  const owner = await readText(join(target, ownerName))
  if (owner === undefined || owner === dataDirectory) return
  if ((await readText(join(owner, pointerName))) !== target) return
  throw new EmbeddedDatabaseError(
    `${dataDirectory} is a copy of ${owner}, whose database is in ${target}: remove ${join(dataDirectory, pointerName)} ` +
      'to begin with an empty database, or remove the other DATA_DIR',
  )
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw new EmbeddedDatabaseError(`${path} can't be read: ${messageOf(error)}`, { cause: error })
  }
}

/** Creates a folder with at least this mode and resolves to its real path. */
export async function createFolder(path: string, what: string, mode?: number): Promise<string> {
  try {
    await mkdir(path, { recursive: true, mode })
    // Not left to mkdir: the umask may have taken bits, of this start's folder or of one that was killed here.
    if (mode !== undefined && ((await stat(path)).mode & mode) !== mode) await chmod(path, mode)
    return await realpath(path)
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `${what} ${path} can't be created (${messageOf(cause)}): let the user that runs Berth write there, choose another ` +
        `DATA_DIR, ${useOwnDatabase}`,
      { cause },
    )
  }
}
