import { readFile, realpath, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { EmbeddedDatabaseError, useOwnDatabase } from './error.ts'

/** The user and group that PostgreSQL runs as, if they differ from those of this process. */
export interface Account {
  uid: number
  gid: number
}

/** True if this process runs as root. PostgreSQL refuses to run as root. */
export function runningAsRoot(): boolean {
  return process.getuid?.() === 0
}

/** Picks the account for PostgreSQL if Berth runs as root: `postgres`, else `nobody`; else undefined. */
export async function chooseAccount(): Promise<Account | undefined> {
  if (!runningAsRoot()) return undefined
  const entries = new Map<string, Account>()
  for (const line of (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')) {
    const [name, , uid, gid] = line.split(':')
    if (name && Number(uid) > 0 && Number(gid) > 0) entries.set(name, { uid: Number(uid), gid: Number(gid) })
  }
  const account = entries.get('postgres') ?? entries.get('nobody')
  if (account) return account
  throw new EmbeddedDatabaseError(
    'PostgreSQL refuses to run as root, and the users "postgres" and "nobody" do not exist. ' +
      `Start Berth as an ordinary user, ${useOwnDatabase}.`,
  )
}

/** Throws if this process's user id has no name: `initdb` requires one. */
export function requireNamedUser(): void {
  try {
    userInfo()
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `The user id ${process.getuid?.()} has no entry in /etc/passwd, which PostgreSQL requires to create a database. ` +
        `Run Berth as a user with an entry, ${useOwnDatabase}.`,
      { cause },
    )
  }
}

const read = 4
const traverse = 1

/** True if the account may open a file or directory, by its mode and the modes of all parent directories. */
export async function canReach(path: string, account: Account): Promise<boolean> {
  const real = await realpath(path)
  const own = await stat(real)
  if (!permits(own, account, own.isDirectory() ? traverse : read)) return false
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if (!permits(await stat(folder), account, traverse)) return false
    if (folder === dirname(folder)) return true
  }
}

function permits(entry: { mode: number; uid: number; gid: number }, account: Account, bit: number): boolean {
  if (entry.uid === account.uid) return (entry.mode & (bit << 6)) !== 0
  if (entry.gid === account.gid) return (entry.mode & (bit << 3)) !== 0
  return (entry.mode & bit) !== 0
}
