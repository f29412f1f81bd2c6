import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { requireNamedUser } from './account.ts'
import type { Account } from '../../base/account.ts'
import type { Binaries } from './binaries.ts'
import { EmbeddedDatabaseError, messageOf, systemErrorCode, useOwnDatabase } from './error.ts'

/** A PostgreSQL cluster on disk. `data` is its PGDATA; the passwords are stored beside it. */
export interface Cluster {
  directory: string
  data: string
  password: string
  account: Account | undefined
}

/** PostgreSQL's environment, without the operator's variables, such as PGDATA and LC_ALL. */
export const programEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

const temporaryPrefix = 'initializing-'

/** Opens the cluster in `home`, or creates it. `lock` is the file descriptor of the launch lock. */
export async function openCluster(
  home: string,
  binaries: Binaries,
  account: Account | undefined,
  lock: number,
): Promise<Cluster> {
  const directory = join(home, 'cluster')
  const data = join(directory, 'data')
  if (!existsSync(directory)) await createCluster(home, directory, binaries, account, lock)
  const credentials = await readInside(directory, 'credentials.json')
  const major = (await readInside(directory, join('data', 'PG_VERSION'))).trim()
  if (major !== binaries.major) {
    throw new EmbeddedDatabaseError(
      `The database in ${data} was created by PostgreSQL ${major}, but this version of Berth includes PostgreSQL ` +
        `${binaries.major}. Start the version of Berth that created it, or move its data to your own PostgreSQL and set DATABASE_URL.`,
    )
  }
  const parsed: unknown = JSON.parse(credentials)
  if (typeof parsed !== 'object' || !parsed || !('application' in parsed)) {
    throw new EmbeddedDatabaseError(
      `${join(directory, 'credentials.json')} contains no password. Restore the file from a backup.`,
    )
  }
  return { directory, data, password: String(parsed.application), account: await ownerOf(data, account) }
}

/** As root, PostgreSQL runs as the owner of the data: a change of /etc/passwd can't lock it out. */
async function ownerOf(data: string, account: Account | undefined): Promise<Account | undefined> {
  if (!account) return undefined
  const { uid, gid } = await stat(data)
  return uid > 0 ? { uid, gid } : account
}

async function readInside(directory: string, name: string): Promise<string> {
  try {
    return await readFile(join(directory, name), 'utf8')
  } catch (cause) {
    throw new EmbeddedDatabaseError(
      `The database in ${directory} could not be opened (${messageOf(cause)}). Start Berth as the owner of the directory, ` +
        `restore it from a backup, ${useOwnDatabase}.`,
      { cause },
    )
  }
}

/** Creates the cluster under a temporary name, so that a killed start leaves no incomplete cluster. */
async function createCluster(
  home: string,
  directory: string,
  binaries: Binaries,
  account: Account | undefined,
  lock: number,
): Promise<void> {
  if (!account) requireNamedUser()
  for (const name of await readdir(home)) {
    if (name.startsWith(temporaryPrefix)) await rm(join(home, name), { recursive: true, force: true })
  }
  const fresh = join(home, `${temporaryPrefix}${randomBytes(6).toString('hex')}`)
  const passwordFile = join(fresh, 'superuser-password')
  const superuser = randomBytes(24).toString('hex')
  const application = randomBytes(24).toString('hex')
  const run = (program: string, args: string[], input: string) =>
    runProgram(join(binaries.directory, 'bin', program), args, input, account, lock)
  try {
    await mkdir(fresh, { mode: 0o700 })
    if (account) await chown(fresh, account.uid, account.gid)
    await writePrivate(
      join(fresh, 'credentials.json'),
      `${JSON.stringify({ superuser, application })}\n`,
      account,
    )
    await writePrivate(passwordFile, superuser, account)
    const data = join(fresh, 'data')
    await run('initdb', [...initdbArguments, `--pgdata=${data}`, `--pwfile=${passwordFile}`], '')
    await run(
      'postgres',
      ['--single', '-j', '-D', data, ...singleUserSettings, 'template1'],
      setupStatements(application),
    )
    await rm(passwordFile)
    await flushFolder(fresh)
    await rename(fresh, directory)
    await flushFolder(home)
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true }).catch(() => undefined)
    const reason = account && systemErrorCode(cause) === 'EPERM' ? restrictedRoot : messageOf(cause)
    throw new EmbeddedDatabaseError(
      `The database could not be created in ${home}: ${reason}\nFree disk space or fix this error, ${useOwnDatabase}.`,
      { cause },
    )
  }
}

const initdbArguments = [
  '--username=postgres',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--data-checksums',
  '--no-instructions',
  '--set=dynamic_shared_memory_type=mmap',
]

const singleUserSettings = [
  '-c',
  'exit_on_error=true',
  '-c',
  'dynamic_shared_memory_type=mmap',
  '-c',
  'ssl=off',
]

/** Berth's role is no superuser. CREATEDB allows restoring a backup beside the live database. */
function setupStatements(password: string): string {
  return `CREATE ROLE berth LOGIN CREATEDB PASSWORD '${password}';\n\nCREATE DATABASE berth OWNER berth;\n\n`
}

async function writePrivate(path: string, text: string, account: Account | undefined): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    if (account) await file.chown(account.uid, account.gid)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Runs a program until it exits; it inherits the launch lock, so an orphan blocks the next launch. */
function runProgram(
  path: string,
  args: string[],
  input: string,
  account: Account | undefined,
  lock: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, {
      ...account,
      cwd: '/',
      env: programEnvironment,
      stdio: ['pipe', 'pipe', 'pipe', lock],
    })
    let output = ''
    const collect = (data: Buffer) => (output = (output + data.toString()).slice(-8192))
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.stdin?.on('error', () => undefined).end(input)
    child.once('error', (cause) => reject(new Error(explainSpawnFailure(path, cause), { cause })))
    child.once('close', (code, signal) => {
      if (code === 0) return resolve()
      reject(new Error(`${path} exited with ${signal ?? code}: ${lastLines(output)}`))
    })
  })
}

const restrictedRoot =
  'root may not switch to another user here, possibly a container without CAP_SETUID and CAP_CHOWN. Run Berth as an ordinary user'

/** Explains why a program could not be spawned. */
export function explainSpawnFailure(path: string, error: Error): string {
  const code = systemErrorCode(error)
  if (code === 'EPERM' || code === 'EINVAL') return restrictedRoot
  if (code === 'ENOENT' && existsSync(path))
    return `${path} requires glibc, which this system, possibly Alpine, doesn't have`
  return `${path} could not be started: ${error.message}`
}

/** The last lines of a text. */
export function lastLines(text: string, count = 12): string {
  return text.trim().split('\n').slice(-count).join('\n')
}
