import type { ChildProcess } from 'node:child_process'
import { stat, type FileHandle } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { chooseAccount, runningAsRoot } from './embedded/account.ts'
import { describeBinaries, findBinaries, prepareBinaries, type Binaries } from './embedded/binaries.ts'
import { lastLines, openCluster, type Cluster } from './embedded/cluster.ts'
import { EmbeddedDatabaseError, messageOf, systemErrorCode, useOwnDatabase } from './embedded/error.ts'
import { lockFile } from './embedded/file-lock.ts'
import { locateHome, writePointer, type Home } from './embedded/location.ts'
import {
  disarmPidFile,
  findFreePort,
  isPostmaster,
  openLog,
  readLog,
  readPidFile,
  serverSettings,
  spawnPostmaster,
  trimLog,
} from './embedded/postmaster.ts'

export { EmbeddedDatabaseError } from './embedded/error.ts'

/** A running PostgreSQL of our own. */
export interface EmbeddedDatabase {
  /** Connection string of the database `berth`, as the role that owns it and is no superuser. */
  url: string
  /** Whether it ran already, left by a server that was killed. */
  adopted: boolean
  /** Stops PostgreSQL (fast shutdown) and waits for it; without effect once it has gone. */
  stop(): Promise<void>
}

export interface EmbeddedDatabaseOptions {
  /** Absolute path of DATA_DIR; created when it doesn't exist. */
  dataDirectory: string
  /** Receives one sentence for the operator at a time. */
  log(message: string): void
  /** Further PostgreSQL settings; without effect on a server that runs already. */
  settings?: Record<string, string> | undefined
  /** Learns that a server which we started ended unasked; one that we adopted shows only in its connections. */
  onExit?: ((error: EmbeddedDatabaseError) => void) | undefined
  /** Where a superuser keeps what PostgreSQL's account can't reach elsewhere; `/var/lib/berth` by default. */
  stateDirectory?: string | undefined
  /** A folder with PostgreSQL's `bin`, `lib` and `share` in place of the installed package's. */
  binariesDirectory?: string | undefined
}

const launchPatienceSeconds = 120
const recoveryPatienceMs = 180_000
const unresponsivePatienceMs = 15_000
const stopPatienceSeconds = 30

interface Instance extends Home {
  cluster: Cluster
  binaries: Binaries
  options: EmbeddedDatabaseOptions
  logFile: string
  lockPath: string
}

/**
 * Starts the PostgreSQL of this DATA_DIR, creating its cluster at first, or adopts the one that still runs. Throws
 * `EmbeddedDatabaseError`. To keep a second server off the same data see `lockDataDirectory`.
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  if (!isAbsolute(options.dataDirectory)) {
    throw new EmbeddedDatabaseError(`DATA_DIR must be an absolute path here: ${options.dataDirectory}`)
  }
  const account = await chooseAccount()
  const stateDirectory = options.stateDirectory ?? '/var/lib/berth'
  const home = await locateHome(options.dataDirectory, stateDirectory, account)
  if (home.pointer) {
    options.log(
      `PostgreSQL can't run inside ${options.dataDirectory} as its own user; its data is in ${home.directory}`,
    )
  }
  let launchLock: FileHandle | undefined
  try {
    launchLock = await openOwned(home.directory, () =>
      lockFile(join(home.directory, 'launch.lock'), launchPatienceSeconds),
    )
    if (!launchLock) {
      throw new EmbeddedDatabaseError(
        `Another Berth has been starting the database in ${home.directory} for ${launchPatienceSeconds} seconds: stop it`,
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
      `PostgreSQL can't be started in ${home.directory} (${messageOf(error)}): mend what it says, start Berth as the ` +
        `user that owns the folder, ${useOwnDatabase}`,
      { cause: error },
    )
  } finally {
    await launchLock?.close()
  }
}

/** Opens a file in the home and leaves it to the home's owner, should a superuser start what is another user's. */
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
  const deadline = Date.now() + recoveryPatienceMs
  let unresponsiveSince = Date.now()
  for (;;) {
    // Every process of the cluster's PostgreSQL inherits this lock, so whoever gets it knows that none is left.
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
        `Took over the PostgreSQL that runs already in ${instance.directory} (process ${running.pid})`,
      )
      return present(instance, running.pid, running.port, undefined)
    }
    const settling = alive && running.status !== 'ready'
    if (settling) unresponsiveSince = Date.now()
    if (Date.now() > Math.min(deadline, unresponsiveSince + unresponsivePatienceMs)) {
      throw new EmbeddedDatabaseError(
        `PostgreSQL of ${instance.directory} is held by a process that doesn't answer` +
          (running ? ` (process ${running.pid}, port ${running.port})` : '') +
          `. Stop the other Berth, container or machine that uses this folder, or choose another DATA_DIR. Its log ends:\n` +
          lastLines(await readLog(instance.logFile, 0)),
      )
    }
    await delay(100)
  }
}

async function start(instance: Instance, lock: FileHandle, deadline: number): Promise<EmbeddedDatabase> {
  const { cluster, logFile, options } = instance
  await disarmPidFile(cluster)
  await (await openOwned(instance.directory, () => openLog(logFile))).close()
  await trimLog(logFile)
  const program = join(instance.binaries.directory, 'bin', 'postgres')
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort()
    const log = await openLog(logFile)
    const offset = (await log.stat()).size
    const settings = { ...serverSettings(port), ...options.settings }
    let child: ChildProcess
    try {
      child = await spawnPostmaster(program, cluster, settings, log, lock)
    } finally {
      await log.close()
    }
    while (hasEnded(child) === undefined) {
      const pidFile = await readPidFile(cluster.data)
      if (pidFile?.pid === child.pid && pidFile?.status === 'ready') {
        const refusal = await tryLogin(instance, pidFile.port)
        if (!refusal) return present(instance, pidFile.pid, pidFile.port, child)
        if (refusal.fatal) {
          child.kill('SIGINT')
          throw new EmbeddedDatabaseError(
            `PostgreSQL of ${instance.directory} refuses its own password (${refusal.message}): restore cluster/credentials.json`,
          )
        }
      }
      if (Date.now() > deadline) {
        throw new EmbeddedDatabaseError(
          `PostgreSQL of ${instance.directory} is still not ready, and goes on recovering: start Berth again later. ` +
            `Its log ends:\n${lastLines(await readLog(logFile, offset))}`,
        )
      }
      await delay(10)
    }
    const output = await readLog(logFile, offset)
    if (attempt < 5 && output.includes('could not bind')) continue
    throw new EmbeddedDatabaseError(
      `PostgreSQL of ${instance.directory} ended with ${hasEnded(child)} while starting. Mend what it says, ` +
        `${useOwnDatabase}:\n${lastLines(output)}`,
    )
  }
}

function hasEnded(child: ChildProcess): string | undefined {
  return child.signalCode ?? child.exitCode?.toString()
}

function urlOf(instance: Instance, port: number): string {
  return `postgresql://berth:${instance.cluster.password}@127.0.0.1:${port}/berth?sslmode=disable`
}

/** Logs in once; undefined when that went well. Only who knows the password's verifier passes: it is our server. */
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

function present(
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
            `PostgreSQL ended unasked (${signal ?? code}). Its log ends:\n${lastLines(output)}`,
          ),
        ),
      )
  })
  const stop = async () => {
    clearInterval(trimming)
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
      const alive = child ? hasEnded(child) === undefined : await isPostmaster(pid, instance.cluster.data)
      if (alive) sendSignal(pid, signal)
      const lock = await lockFile(instance.lockPath, alive ? stopPatienceSeconds : 5)
      await lock?.close()
      if (lock || !alive) return
      instance.options.log(`PostgreSQL did not stop on ${signal} within ${stopPatienceSeconds} seconds`)
    }
    throw new EmbeddedDatabaseError(`PostgreSQL of ${instance.directory} (process ${pid}) can't be stopped`)
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
