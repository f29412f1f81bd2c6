import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { canReach } from '../../base/account.ts'
import type { Account } from '../../base/account.ts'
import { EmbeddedDatabaseError, messageOf, systemErrorCode, useOwnDatabase } from './error.ts'

const pointerName = 'postgres-location'
const ownerName = 'data-directory'

/** The directory of a database. `pointer` is a file in DATA_DIR that names a directory elsewhere. */
export interface Home {
  directory: string
  pointer: string | undefined
}

/** Finds or creates `DATA_DIR/postgres`, or one in `stateDirectory` if the account can't access DATA_DIR. */
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
      `${pointer} says that the database of this DATA_DIR is in ${target}, but that directory has no database. Restore it, ` +
        `or remove ${pointer} to start with an empty database.`,
    )
  }
  if (!account) {
    await createFolder(inside, 'The database directory', 0o700)
    return { directory: inside, pointer: undefined }
  }
  if (!existsSync(join(outside, 'cluster')) && (await canReach(real, account))) {
    await createFolder(inside, 'The database directory', 0o755)
    return { directory: inside, pointer: undefined }
  }
  await createFolder(stateDirectory, 'The state directory', 0o755)
  await createFolder(outside, 'The database directory', 0o755)
  return { directory: outside, pointer }
}

/** Links DATA_DIR and a database elsewhere in both directions, after the database has been created. */
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

/** A DATA_DIR may be moved, but a copy must not share the original's database. */
async function refuseCopy(dataDirectory: string, target: string): Promise<void> {
  const owner = await readText(join(target, ownerName))
  if (owner === undefined || owner === dataDirectory) return
  if ((await readText(join(owner, pointerName))) !== target) return
  throw new EmbeddedDatabaseError(
    `${dataDirectory} is a copy of ${owner}, whose database is in ${target}. Remove ${join(dataDirectory, pointerName)} ` +
      'to start with an empty database, or remove the other DATA_DIR.',
  )
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw new EmbeddedDatabaseError(`Could not read ${path}: ${messageOf(error)}`, { cause: error })
  }
}

/** Creates a directory with at least this mode and returns its real path. */
export async function createFolder(path: string, what: string, mode?: number): Promise<string> {
  try {
    await mkdir(path, { recursive: true, mode })
    // The umask may have removed bits, now or in an earlier start that was killed here.
    if (mode !== undefined && ((await stat(path)).mode & mode) !== mode) await chmod(path, mode)
    return await realpath(path)
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `${what} ${path} could not be created (${messageOf(cause)}). Make it writable for the user that runs Berth, choose ` +
        `another DATA_DIR, ${useOwnDatabase}.`,
      { cause },
    )
  }
}
