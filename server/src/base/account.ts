import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The user and group of programs that must not run as root. */
export interface Account {
  uid: number
  gid: number
}

/** True if this process runs as root. */
export function runningAsRoot(): boolean {
  return process.getuid?.() === 0
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

/** Says that engines can't use a path, and what to do, as a clause. */
export function describeUnreachable(path: string, { uid }: Account): string {
  return `the engines' user id ${uid} can't read ${path}; put it in a folder that all users can open, such as /opt`
}

/** True if the account has a permission, a bit of `others`, on a file or directory. */
export function permits(
  entry: { mode: number; uid: number; gid: number },
  account: Account,
  bit: number,
): boolean {
  if (entry.uid === account.uid) return (entry.mode & (bit << 6)) !== 0
  if (entry.gid === account.gid) return (entry.mode & (bit << 3)) !== 0
  return (entry.mode & bit) !== 0
}
