import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import type { Account } from '../../base/account.ts'
import { runningAsRoot } from '../../base/account.ts'
import { EmbeddedDatabaseError, useOwnDatabase } from './error.ts'

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
