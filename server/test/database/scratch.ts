import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdtemp, readdir, realpath, rm, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { chooseAccount } from '../../src/database/embedded/account.ts'
import type { Account } from '../../src/base/account.ts'
import { findBinaries } from '../../src/database/embedded/binaries.ts'
import { lockFile } from '../../src/base/file-lock.ts'
import { isPostmaster, readPidFile } from '../../src/database/embedded/postmaster.ts'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import type { EmbeddedDatabase, EmbeddedDatabaseOptions } from '../../src/database/embedded.ts'

/** Settings of a throwaway database. */
const throwawaySettings = { fsync: 'off', shared_buffers: '16MB' }

/** Polling settings for something that takes milliseconds on an idle machine. */
export const patient = { timeout: 20_000, interval: 20 }

/** Creates a directory for one test. After the test, kills PostgreSQL in it and removes the directory. */
export async function createScratch(mode = 0o755): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'berth-database-')))
  await chmod(folder, mode)
  onTestFinished(async () => {
    for (const home of await findHomes(folder)) await killCluster(home)
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return folder
}

async function findHomes(folder: string): Promise<string[]> {
  if (existsSync(join(folder, 'postgresql.lock'))) return [folder]
  const entries = await readdir(folder, { withFileTypes: true })
  const inside = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('postgresql-'))
  return (await Promise.all(inside.map((entry) => findHomes(join(folder, entry.name))))).flat()
}

async function killCluster(home: string): Promise<void> {
  const pid = await postmasterPid(home)
  if (pid) process.kill(pid, 'SIGKILL')
  await (await lockFile(join(home, 'postgresql.lock'), 20))?.close()
}

/** The id of the PostgreSQL process running in this directory, if any. */
export async function postmasterPid(home: string): Promise<number | undefined> {
  const data = join(home, 'cluster', 'data')
  const file = await readPidFile(data)
  return file && (await isPostmaster(file.pid, data)) ? file.pid : undefined
}

/** Starts the database in this process. */
export async function start(
  dataDirectory: string,
  options: Partial<EmbeddedDatabaseOptions> = {},
): Promise<EmbeddedDatabase> {
  return await startEmbeddedDatabase({
    dataDirectory,
    log: () => undefined,
    settings: throwawaySettings,
    ...options,
  })
}

export interface Launch {
  process: ChildProcess
  url: string
  adopted: boolean
  messages: string[]
  error?: string
}

/** Starts the database in a separate process and returns its report. */
export async function launch(
  dataDirectory: string,
  options: Partial<EmbeddedDatabaseOptions> = {},
  user?: Account,
): Promise<Launch> {
  const child = spawnLauncher(dataDirectory, options, user)
  for await (const line of createInterface({ input: child.stdout! })) {
    return { process: child, ...(JSON.parse(line) as Omit<Launch, 'process'>) }
  }
  throw new Error(`The launcher exited without a report (${child.signalCode ?? child.exitCode})`)
}

/** Spawns the launcher process, which is killed after the test. */
export function spawnLauncher(
  dataDirectory: string,
  options: Partial<EmbeddedDatabaseOptions> = {},
  user?: Account,
): ChildProcess {
  const script = join(import.meta.dirname, 'launcher.ts')
  const argument = JSON.stringify({ dataDirectory, settings: throwawaySettings, ...options })
  const child = spawn(process.execPath, [script, argument], {
    ...user,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Kills a process with SIGKILL and waits until it has exited. */
export async function killHard(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

/** Runs one statement and returns its rows. */
export async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** Copies the installed PostgreSQL package without its library links, as after `npm ci --ignore-scripts`. */
export async function copyPackageWithoutLinks(folder: string): Promise<string> {
  const { directory } = await findBinaries()
  const target = join(folder, 'package')
  await cp(dirname(directory), target, { recursive: true, verbatimSymlinks: true })
  for (const entry of await readdir(join(target, 'native'), { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) await unlink(join(entry.parentPath, entry.name))
  }
  return join(target, 'native')
}

/** The account of PostgreSQL if the tests run as root; undefined for an ordinary user. */
export const serviceAccount = await chooseAccount()

/** A user id without an entry in /etc/passwd. */
export const namelessAccount: Account = { uid: 48_213, gid: 48_213 }
