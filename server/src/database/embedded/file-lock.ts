import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { EmbeddedDatabaseError, systemErrorCode, useOwnDatabase } from './error.ts'

// O_EXLOCK of the BSDs and macOS: open(2) takes the lock itself; Linux has no such flag.
const exclusiveLockFlag = 0x20
const conflictExitCode = 75

/**
 * Takes the flock(2) lock on a file, creating the file. Resolves to the open handle, which holds the lock until it and
 * every copy that a child process inherited are closed (the kernel does that for a killed process), or to undefined
 * when another process still holds it after `waitSeconds`.
 */
export async function lockFile(path: string, waitSeconds = 0): Promise<FileHandle | undefined> {
  if (process.platform === 'darwin') return await lockWhileOpening(path, waitSeconds)
  const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  let locked = false
  try {
    locked = await lockInherited(handle.fd, path, waitSeconds)
  } finally {
    if (!locked) await handle.close()
  }
  return locked ? handle : undefined
}

/** Node.js has no flock(2); the lock belongs to the open file, not to the process, so a child may take it for us. */
function lockInherited(fd: number, path: string, waitSeconds: number): Promise<boolean> {
  const patience = waitSeconds > 0 ? ['--wait', String(waitSeconds)] : ['--nonblock']
  return new Promise((resolve, reject) => {
    const child = spawn(
      'flock',
      ['--exclusive', '--conflict-exit-code', String(conflictExitCode), ...patience, '3'],
      {
        stdio: ['ignore', 'ignore', 'pipe', fd],
      },
    )
    let complaint = ''
    child.stderr?.on('data', (data: Buffer) => (complaint += data.toString()))
    child.once('error', (cause) =>
      reject(
        new EmbeddedDatabaseError(
          systemErrorCode(cause) === 'ENOENT'
            ? `The command flock (package util-linux) is missing: install it, ${useOwnDatabase}`
            : `The command flock can't be run: ${cause.message}`,
          { cause },
        ),
      ),
    )
    child.once('close', (code) => {
      if (code === 0 || code === conflictExitCode) return resolve(code === 0)
      reject(
        new EmbeddedDatabaseError(
          `${path} can't be locked: ${complaint.trim() || `flock ended with ${code}`}`,
        ),
      )
    })
  })
}

async function lockWhileOpening(path: string, waitSeconds: number): Promise<FileHandle | undefined> {
  const deadline = Date.now() + waitSeconds * 1000
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK
  for (;;) {
    try {
      return await open(path, flags | exclusiveLockFlag, 0o600)
    } catch (error) {
      if (systemErrorCode(error) !== 'EAGAIN') throw error
      if (Date.now() >= deadline) return undefined
      await delay(20)
    }
  }
}
