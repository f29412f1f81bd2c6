import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, open, readFile, rename, rm, truncate } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findShortage } from '../../base/local-shortage.ts'
import { EmbeddedDatabaseError, systemErrorCode } from './error.ts'
import { explainSpawnFailure, programEnvironment } from './cluster.ts'
import type { Cluster } from './cluster.ts'

const logLimitBytes = 8 * 1024 * 1024

/** Lines 1, 4 and 8 of `postmaster.pid` (PostgreSQL's `utils/pidfile.h`), and all lines. */
export interface PidFile {
  pid: number
  port: number
  status: string
  lines: string[]
}

/** Reads `postmaster.pid`; undefined if the file doesn't exist or is incomplete. */
export async function readPidFile(data: string): Promise<PidFile | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return ''
    throw error
  })
  const lines = text.split('\n')
  const pid = Number(lines[0])
  const port = Number(lines[3])
  if (!Number.isInteger(pid) || pid <= 1) return undefined
  return { pid, port: Number.isInteger(port) ? port : 0, status: (lines[7] ?? '').trim(), lines }
}

/** True if the process is alive and is this cluster's server. A zombie or a reused pid is not. */
export async function isPostmaster(pid: number, data: string): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (systemErrorCode(error) !== 'EPERM') return false
  }
  return (await readCommandLine(pid)).includes(data)
}

async function readCommandLine(pid: number): Promise<string> {
  if (process.platform !== 'linux') {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
      stdout: '',
    }))
    return stdout
  }
  // Unlike /proc/<pid>/cwd, this file is readable for root in a container. It is empty for a zombie.
  return await readFile(`/proc/${pid}/cmdline`, 'utf8').catch((error: unknown) => {
    // A server that lacks file descriptors must not take its database for gone.
    if (findShortage(error) !== null) throw error
    return ''
  })
}

/**
 * Replaces the pid in a `postmaster.pid` left by a crash, under the cluster's lock: PostgreSQL starts only if
 * that pid is stale or its parent's. The other lines remain, because they guard the shared memory.
 */
export async function resetPidFile(cluster: Cluster): Promise<void> {
  const path = join(cluster.data, 'postmaster.pid')
  const stale = await readPidFile(cluster.data)
  if (!stale) return await rm(path, { force: true })
  if (await isPostmaster(stale.pid, cluster.data)) {
    throw new EmbeddedDatabaseError(
      `A PostgreSQL that Berth did not start is running on ${cluster.data} (process ${stale.pid}). Stop it.`,
    )
  }
  const fresh = join(cluster.data, `postmaster.pid.${randomBytes(4).toString('hex')}`)
  const file = await open(fresh, 'wx', 0o600)
  try {
    await file.writeFile([process.pid, ...stale.lines.slice(1)].join('\n'))
    if (cluster.account) await file.chown(cluster.account.uid, cluster.account.gid)
  } finally {
    await file.close()
  }
  await rename(fresh, path)
}

/** Starts the server in its own session. `lock` stays held while any of its processes is alive. */
export async function spawnPostmaster(
  program: string,
  cluster: Cluster,
  settings: Record<string, string>,
  log: FileHandle,
  lock: FileHandle,
): Promise<ChildProcess> {
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(program, ['-D', cluster.data, ...options], {
    ...cluster.account,
    cwd: '/',
    env: programEnvironment,
    detached: true,
    stdio: ['ignore', log.fd, log.fd, lock.fd],
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(new Error(explainSpawnFailure(program, cause), { cause })))
  })
  child.unref()
  return child
}

/** The settings of the embedded PostgreSQL. */
export function serverSettings(port: number): Record<string, string> {
  return {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    ssl: 'off',
    max_connections: '100',
    shared_buffers: '128MB',
    // In a container, /dev/shm has only 64 MB.
    dynamic_shared_memory_type: 'mmap',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] ',
    log_checkpoints: 'off',
    // Keep user data in rows and statements out of the log.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
  }
}

/** Opens the server's log for appending. */
export async function openLog(path: string): Promise<FileHandle> {
  return await open(
    path,
    constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  )
}

/** Rotates the log to `.1` above the limit. The server keeps writing to the same file. */
export async function trimLog(path: string, limitBytes = logLimitBytes): Promise<void> {
  const file = await openLog(path)
  try {
    if ((await file.stat()).size <= limitBytes) return
    await copyFile(path, `${path}.1`)
    await truncate(path)
  } finally {
    await file.close()
  }
}

/** Reads the log from an offset, at most its last 16 KiB. */
export async function readLog(path: string, offset: number): Promise<string> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const from = Math.max(offset <= size ? offset : 0, size - 16_384)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
