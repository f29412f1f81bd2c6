import { spawn } from 'node:child_process'

/** More than any program here prints */
const maxOutputBytes = 2 ** 20

/** The end of a program that ran to its end. */
export interface BriefRun {
  stdout: string
  stderr: string
  /** null after a signal */
  code: number | null
}

/**
 * Runs a program that should end within seconds. Resolves to null if it can't be started or misses the
 * deadline, also where the kernel can't end it, as with a driver that hangs.
 */
export function runBriefly(
  program: string,
  args: readonly string[],
  { environment, deadlineMs }: { environment: Record<string, string | undefined>; deadlineMs: number },
): Promise<BriefRun | null> {
  const { promise, resolve } = Promise.withResolvers<BriefRun | null>()
  // In a group of its own, so that its children end with it.
  const child = spawn(program, args, {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] = (output[name] + text).slice(0, maxOutputBytes)
    })
  }
  const timer = setTimeout(() => {
    resolve(null)
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
    child.stdout.destroy()
    child.stderr.destroy()
    child.unref()
  }, deadlineMs)
  child.once('error', () => resolve(null))
  child.once('close', (code) => resolve({ ...output, code }))
  return promise.finally(() => clearTimeout(timer))
}
