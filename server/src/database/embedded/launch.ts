import type { ChildProcess } from 'node:child_process'
import { stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { findFreePort } from '../../base/free-port.ts'
import { runningAsRoot } from '../../base/account.ts'
import type { Binaries } from './binaries.ts'
import { lastLines } from './cluster.ts'
import type { Cluster } from './cluster.ts'
import { EmbeddedDatabaseError, messageOf, useOwnDatabase } from './error.ts'
import { lockFile } from '../../base/file-lock.ts'
import {
  isPostmaster,
  openLog,
  readLog,
  readPidFile,
  resetPidFile,
  serverSettings,
  spawnPostmaster,
  trimLog,
} from './postmaster.ts'

/** A cluster, with what is needed to run it. */
export interface Instance {
  /** The folder of the cluster, its log and its locks */
  directory: string
  cluster: Cluster
  binaries: Binaries
  /** PostgreSQL settings in addition to Berth's */
  settings: Record<string, string>
  /** Receives one sentence at a time, for the operator */
  log(message: string): void
  logFile: string
  lockPath: string
}

/** A running PostgreSQL. */
export interface Postmaster {
  pid: number
  port: number
  /** undefined if it was adopted */
  child: ChildProcess | undefined
}

const launchTimeoutSeconds = 120
const recoveryTimeoutMs = 180_000
const unresponsiveTimeoutMs = 15_000

/** Runs `work` with the lock's file descriptor while no other process launches this folder's PostgreSQL. */
export async function withLaunchLock<Result>(
  directory: string,
  work: (lock: number) => Promise<Result>,
): Promise<Result> {
  const lock = await openOwned(directory, () =>
    lockFile(join(directory, 'launch.lock'), launchTimeoutSeconds),
  )
  if (!lock) {
    throw new EmbeddedDatabaseError(
      `Another Berth process has been starting the database in ${directory} for ${launchTimeoutSeconds} seconds. Stop that process.`,
    )
  }
  try {
    return await work(lock.fd)
  } finally {
    await lock.close()
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

/** Starts a cluster's PostgreSQL, without `port` on a free one, or adopts it. Needs the launch lock. */
export async function launchPostmaster(instance: Instance, port: number | null): Promise<Postmaster> {
  const deadline = Date.now() + recoveryTimeoutMs
  let unresponsiveSince = Date.now()
  for (;;) {
    // Every process of this cluster's PostgreSQL inherits the lock: if the lock is free, no process is left.
    const lock = await openOwned(instance.directory, () => lockFile(instance.lockPath))
    if (lock) {
      try {
        return await start(instance, lock, deadline, port)
      } finally {
        await lock.close()
      }
    }
    const running = await readPidFile(instance.cluster.data)
    const alive = running !== undefined && (await isPostmaster(running.pid, instance.cluster.data))
    if (alive && running.status === 'ready' && !(await tryLogin(instance, running.port))) {
      instance.log(
        `Adopted the PostgreSQL that is already running in ${instance.directory} (process ${running.pid})`,
      )
      return { pid: running.pid, port: running.port, child: undefined }
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

async function start(
  instance: Instance,
  lock: FileHandle,
  deadline: number,
  fixedPort: number | null,
): Promise<Postmaster> {
  const { cluster, logFile } = instance
  await resetPidFile(cluster)
  await (await openOwned(instance.directory, () => openLog(logFile))).close()
  await trimLog(logFile)
  const program = join(instance.binaries.directory, 'bin', 'postgres')
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await findFreePort())
    const log = await openLog(logFile)
    const offset = (await log.stat()).size
    const settings = { ...serverSettings(port), ...instance.settings }
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
        if (!refusal) return { pid: pidFile.pid, port: pidFile.port, child }
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
    if (attempt < 5 && fixedPort === null && output.includes('could not bind')) continue
    throw new EmbeddedDatabaseError(
      `PostgreSQL in ${instance.directory} exited with ${exitOf(child)} while starting. Fix the error below, ` +
        `${useOwnDatabase}:\n${lastLines(output)}`,
    )
  }
}

/** The signal or exit code of a process; undefined while it runs. */
export function exitOf(child: ChildProcess): string | undefined {
  return child.signalCode ?? child.exitCode?.toString()
}

/** The connection string of Berth's role. */
export function urlOf(instance: Instance, port: number): string {
  return `postgresql://berth:${instance.cluster.password}@127.0.0.1:${port}/berth?sslmode=disable`
}

/** Signs in once and returns any error. SCRAM also proves that the server knows the password's verifier. */
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
