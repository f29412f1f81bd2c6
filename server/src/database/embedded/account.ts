import { readFile, realpath, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { EmbeddedDatabaseError, useOwnDatabase } from './error.ts'

/** The user and group ids that PostgreSQL runs under, when they are not ours. */
export interface Account {
  uid: number
  gid: number
}

/** Whether this process is the superuser, as which PostgreSQL refuses to run. */
export function runningAsRoot(): boolean {
  return process.getuid?.() === 0
}

/**
 * Picks the unprivileged account that a superuser's PostgreSQL runs under: the user `postgres`, else `nobody`.
 * An ordinary user's PostgreSQL runs under the user itself, which is undefined here.
 */
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
    'PostgreSQL refuses to run as root, and there is neither a user "postgres" nor a user "nobody" to run it as: ' +
      `start Berth as an ordinary user, ${useOwnDatabase}`,
  )
}

/** Fails when our user id has no name: `initdb` asks the system for it and gives up without. */
export function requireNamedUser(): void {
  try {
    userInfo()
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `The user id ${process.getuid?.()} has no entry in /etc/passwd, and PostgreSQL can't create a database ` +
        `without: run Berth under a user that has one, ${useOwnDatabase}`,
      { cause },
    )
  }
}

const read = 4
const traverse = 1

/** Whether the account may open this file or folder, judged by the modes of it and of every folder above. */
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
