import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

// O_EXLOCK of macOS and the BSDs makes open(2) take the lock. Linux has no such flag.
const exclusiveLockFlag = 0x20
const conflictExitCode = 75

/**
 * Takes the flock(2) lock on a file, which is created if needed; undefined if another process holds it after
 * `waitSeconds`. The lock lasts until all copies of the handle are closed, also by the death of a process.
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

/** Node.js has no flock(2). The lock belongs to the open file, so the command flock can take it. */
function lockInherited(fd: number, path: string, waitSeconds: number): Promise<boolean> {
  const waitArguments = waitSeconds > 0 ? ['--wait', String(waitSeconds)] : ['--nonblock']
  return new Promise((resolve, reject) => {
    const child = spawn(
      'flock',
      ['--exclusive', '--conflict-exit-code', String(conflictExitCode), ...waitArguments, '3'],
      {
        stdio: ['ignore', 'ignore', 'pipe', fd],
      },
    )
    let output = ''
    child.stderr?.on('data', (data: Buffer) => (output += data.toString()))
    child.once('error', (cause) =>
      reject(
        new Error(
          'code' in cause && cause.code === 'ENOENT'
            ? 'The command flock is missing. Install the package util-linux.'
            : `The command flock could not be run: ${cause.message}`,
          { cause },
        ),
      ),
    )
    child.once('close', (code) => {
      if (code === 0 || code === conflictExitCode) return resolve(code === 0)
      reject(new Error(`Could not lock ${path}: ${output.trim() || `flock exited with code ${code}`}`))
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
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      if (Date.now() >= deadline) return undefined
      await delay(20)
    }
  }
}
