import type { ChildProcess } from 'node:child_process'
import { stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import getPort from 'get-port'
import pg from 'pg'
import { chooseAccount, runningAsRoot } from './embedded/account.ts'
import { describeBinaries, findBinaries, prepareBinaries } from './embedded/binaries.ts'
import type { Binaries } from './embedded/binaries.ts'
import { lastLines, openCluster } from './embedded/cluster.ts'
import type { Cluster } from './embedded/cluster.ts'
import { EmbeddedDatabaseError, messageOf, systemErrorCode, useOwnDatabase } from './embedded/error.ts'
import { lockFile } from './embedded/file-lock.ts'
import { locateHome, writePointer } from './embedded/location.ts'
import type { Home } from './embedded/location.ts'
import {
  resetPidFile,
  isPostmaster,
  openLog,
  readLog,
  readPidFile,
  serverSettings,
  spawnPostmaster,
  trimLog,
} from './embedded/postmaster.ts'

export { EmbeddedDatabaseError } from './embedded/error.ts'

/** A running embedded PostgreSQL. */
export interface EmbeddedDatabase {
  /** Connection string of the database `berth`, with the role that owns it. The role is no superuser. */
  url: string
  /** True if PostgreSQL was already running, left by a killed server */
  adopted: boolean
  /** Stops PostgreSQL with a fast shutdown and waits until it has exited. Does nothing if it has exited. */
  stop(): Promise<void>
}

export interface EmbeddedDatabaseOptions {
  /** Absolute path of DATA_DIR; created if it doesn't exist */
  dataDirectory: string
  /** Receives one sentence at a time, for the operator */
  log(message: string): void
  /** Additional PostgreSQL settings; ignored if the server is already running */
  settings?: Record<string, string> | undefined
  /** Called if a server started here exits unexpectedly. For an adopted server, only its connections fail. */
  onExit?: ((error: EmbeddedDatabaseError) => void) | undefined
  /** As root: directory for files that PostgreSQL's account can't access elsewhere; `/var/lib/berth` by default */
  stateDirectory?: string | undefined
  /** A directory with PostgreSQL's `bin`, `lib` and `share`, instead of the installed package */
  binariesDirectory?: string | undefined
}

const launchTimeoutSeconds = 120
const recoveryTimeoutMs = 180_000
const unresponsiveTimeoutMs = 15_000
const stopTimeoutSeconds = 30

interface Instance extends Home {
  cluster: Cluster
  binaries: Binaries
  options: EmbeddedDatabaseOptions
  logFile: string
  lockPath: string
}

/**
 * Starts the PostgreSQL of this DATA_DIR and creates its cluster at the first start, or adopts a PostgreSQL that is still running.
 * Throws `EmbeddedDatabaseError`. `lockDataDirectory` keeps a second server off the same data.
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  if (!isAbsolute(options.dataDirectory)) {
    throw new EmbeddedDatabaseError(`DATA_DIR must be an absolute path, not ${options.dataDirectory}.`)
  }
  const account = await chooseAccount()
  const stateDirectory = options.stateDirectory ?? '/var/lib/berth'
  const home = await locateHome(options.dataDirectory, stateDirectory, account)
  if (home.pointer) {
    options.log(
      `PostgreSQL's user can't access ${options.dataDirectory}; the database is in ${home.directory}`,
    )
  }
  let launchLock: FileHandle | undefined
  try {
    launchLock = await openOwned(home.directory, () =>
      lockFile(join(home.directory, 'launch.lock'), launchTimeoutSeconds),
    )
    if (!launchLock) {
      throw new EmbeddedDatabaseError(
        `Another Berth process has been starting the database in ${home.directory} for ${launchTimeoutSeconds} seconds. Stop that process.`,
      )
    }
    const installed = await (options.binariesDirectory
      ? describeBinaries(options.binariesDirectory)
      : findBinaries())
    const binaries = await prepareBinaries(installed, account ? stateDirectory : home.directory, account)
    const cluster = await openCluster(home.directory, binaries, account, launchLock.fd)
    await writePointer(home)
    const logFile = join(home.directory, 'postgresql.log')
    const lockPath = join(home.directory, 'postgresql.lock')
    return await startOrAdopt({ ...home, cluster, binaries, options, logFile, lockPath })
  } catch (error) {
    if (error instanceof EmbeddedDatabaseError) throw error
    throw new EmbeddedDatabaseError(
      `PostgreSQL could not be started in ${home.directory} (${messageOf(error)}). Fix this error, start Berth as the owner ` +
        `of the directory, ${useOwnDatabase}.`,
      { cause: error },
    )
  } finally {
    await launchLock?.close()
  }
}

/** Opens a file in the home directory. As root, gives the file to the owner of the directory. */
async function openOwned<T extends FileHandle | undefined>(
  home: string,
  opening: () => Promise<T>,
): Promise<T> {
  const file = await opening()
  if (file && runningAsRoot()) {
    const { uid, gid } = await stat(home)
    await file.chown(uid, gid)
  }
  return file
}

async function startOrAdopt(instance: Instance): Promise<EmbeddedDatabase> {
  const deadline = Date.now() + recoveryTimeoutMs
  let unresponsiveSince = Date.now()
  for (;;) {
    // Every process of this cluster's PostgreSQL inherits the lock: if the lock is free, no process is left.
    const lock = await openOwned(instance.directory, () => lockFile(instance.lockPath))
    if (lock) {
      try {
        return await start(instance, lock, deadline)
      } finally {
        await lock.close()
      }
    }
    const running = await readPidFile(instance.cluster.data)
    const alive = running !== undefined && (await isPostmaster(running.pid, instance.cluster.data))
    if (alive && running.status === 'ready' && !(await tryLogin(instance, running.port))) {
      instance.options.log(
        `Adopted the PostgreSQL that is already running in ${instance.directory} (process ${running.pid})`,
      )
      return createHandle(instance, running.pid, running.port, undefined)
    }
    const settling = alive && running.status !== 'ready'
    if (settling) unresponsiveSince = Date.now()
    if (Date.now() > Math.min(deadline, unresponsiveSince + unresponsiveTimeoutMs)) {
      throw new EmbeddedDatabaseError(
        `PostgreSQL in ${instance.directory} is locked by a process that doesn't respond` +
          (running ? ` (process ${running.pid}, port ${running.port})` : '') +
          `. Stop the other Berth, container or machine that uses this directory, or choose another DATA_DIR. The log ends with:\n` +
          lastLines(await readLog(instance.logFile, 0)),
      )
    }
    await delay(100)
  }
}

async function start(instance: Instance, lock: FileHandle, deadline: number): Promise<EmbeddedDatabase> {
  const { cluster, logFile, options } = instance
  await resetPidFile(cluster)
  await (await openOwned(instance.directory, () => openLog(logFile))).close()
  await trimLog(logFile)
  const program = join(instance.binaries.directory, 'bin', 'postgres')
  for (let attempt = 1; ; attempt++) {
    const port = await getPort({ host: '127.0.0.1' })
    const log = await openLog(logFile)
    const offset = (await log.stat()).size
    const settings = { ...serverSettings(port), ...options.settings }
    let child: ChildProcess
    try {
      child = await spawnPostmaster(program, cluster, settings, log, lock)
    } finally {
      await log.close()
    }
    while (exitOf(child) === undefined) {
      const pidFile = await readPidFile(cluster.data)
      if (pidFile?.pid === child.pid && pidFile?.status === 'ready') {
        const refusal = await tryLogin(instance, pidFile.port)
        if (!refusal) return createHandle(instance, pidFile.pid, pidFile.port, child)
        if (refusal.fatal) {
          child.kill('SIGINT')
          throw new EmbeddedDatabaseError(
            `PostgreSQL in ${instance.directory} rejects its own password (${refusal.message}). Restore cluster/credentials.json from a backup.`,
          )
        }
      }
      if (Date.now() > deadline) {
        throw new EmbeddedDatabaseError(
          `PostgreSQL in ${instance.directory} is still recovering. Start Berth again later. ` +
            `The log ends with:\n${lastLines(await readLog(logFile, offset))}`,
        )
      }
      await delay(10)
    }
    const output = await readLog(logFile, offset)
    if (attempt < 5 && output.includes('could not bind')) continue
    throw new EmbeddedDatabaseError(
      `PostgreSQL in ${instance.directory} exited with ${exitOf(child)} while starting. Fix the error below, ` +
        `${useOwnDatabase}:\n${lastLines(output)}`,
    )
  }
}

function exitOf(child: ChildProcess): string | undefined {
  return child.signalCode ?? child.exitCode?.toString()
}

function urlOf(instance: Instance, port: number): string {
  return `postgresql://berth:${instance.cluster.password}@127.0.0.1:${port}/berth?sslmode=disable`
}

/** Signs in once and returns the error, if any. SCRAM also proves that the server is ours: it knows the password's verifier. */
async function tryLogin(
  instance: Instance,
  port: number,
): Promise<{ message: string; fatal: boolean } | undefined> {
  const client = new pg.Client({ connectionString: urlOf(instance, port), connectionTimeoutMillis: 5000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return undefined
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? error.code : undefined
    return { message: messageOf(error), fatal: code === '28P01' || code === '28000' || code === '3D000' }
  } finally {
    await client.end().catch(() => undefined)
  }
}

function createHandle(
  instance: Instance,
  pid: number,
  port: number,
  child: ChildProcess | undefined,
): EmbeddedDatabase {
  let stopping: Promise<void> | undefined
  const trimming = setInterval(() => void trimLog(instance.logFile).catch(() => undefined), 60_000).unref()
  child?.once('exit', (code, signal) => {
    clearInterval(trimming)
    if (stopping) return
    void readLog(instance.logFile, 0)
      .catch(() => '')
      .then((output) =>
        instance.options.onExit?.(
          new EmbeddedDatabaseError(
            `PostgreSQL exited unexpectedly (${signal ?? code}). The log ends with:\n${lastLines(output)}`,
          ),
        ),
      )
  })
  const stop = async () => {
    clearInterval(trimming)
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
      const alive = child ? exitOf(child) === undefined : await isPostmaster(pid, instance.cluster.data)
      if (alive) sendSignal(pid, signal)
      const lock = await lockFile(instance.lockPath, alive ? stopTimeoutSeconds : 5)
      await lock?.close()
      if (lock || !alive) return
      instance.options.log(`PostgreSQL did not stop on ${signal} within ${stopTimeoutSeconds} seconds`)
    }
    throw new EmbeddedDatabaseError(
      `PostgreSQL in ${instance.directory} (process ${pid}) could not be stopped.`,
    )
  }
  return { url: urlOf(instance, port), adopted: !child, stop: () => (stopping ??= stop()) }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (systemErrorCode(error) !== 'ESRCH') throw error
  }
}
