import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

/**
 * How a short run of a program ended. `reason` is a clause such as `it did not respond within 10
 * seconds`.
 */
export type ProgramRun =
  | { outcome: 'done'; stdout: string; stderr: string }
  | {
      outcome: 'failed'
      how: 'missing' | 'silent' | 'killed' | 'exit'
      reason: string
      stdout: string
      stderr: string
    }

/** What a short run of a program may use. */
export interface ProgramOptions {
  environment: Record<string, string | undefined>
  timeoutMs: number
  account?: { uid: number; gid: number } | null | undefined
  cwd?: string | undefined
}

/** More than any version, list of devices or result of a probe */
const maxOutputBytes = 2 ** 20

/** Runs a program to its end, with a deadline for it and for all that it has started. Never rejects. */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  { environment, timeoutMs, account, cwd }: ProgramOptions,
): Promise<ProgramRun> {
  const { promise, resolve } = Promise.withResolvers<ProgramRun>()
  const output = { stdout: '', stderr: '' }
  const fail = (how: (ProgramRun & { outcome: 'failed' })['how'], reason: string) =>
    resolve({ outcome: 'failed', how, reason, ...output })
  let child: ChildProcess
  try {
    child = spawn(program, args, {
      ...account,
      cwd,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  } catch (error) {
    fail('missing', describeSpawnError(error))
    return promise
  }
  const timer = setTimeout(() => {
    killGroup(child)
    // The kernel can't end a program whose driver hangs.
    child.unref()
    fail('silent', `it did not respond within ${Math.ceil(timeoutMs / 1000)} seconds`)
  }, timeoutMs)
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] = (output[name] + text).slice(0, maxOutputBytes)
    })
  }
  child.once('error', (error) => fail('missing', describeSpawnError(error)))
  child.once('exit', (code, signal) => {
    // Something that it has started may keep the pipes open.
    if (code !== 0 || signal !== null) killGroup(child)
  })
  child.once('close', (code, signal) => {
    if (code === 0) return resolve({ outcome: 'done', ...output })
    const last = lastLine(output.stderr) || lastLine(output.stdout)
    const detail = last === '' ? '' : `: ${last}`
    if (signal !== null) fail('killed', `it was killed by ${signal}${detail}`)
    else fail('exit', `it ended with exit code ${code}${detail}`)
  })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
}

/** Ends a program and all that it has started. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

function describeSpawnError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  return code === 'ENOENT' ? 'there is no such program' : `it could not be started (${code})`
}

/** The last line with text, without a period, for the end of a sentence. */
export function lastLine(text: string): string {
  const line = text.trimEnd().split('\n').at(-1)?.trim() ?? ''
  return line.slice(0, 300).replace(/\.$/, '')
}
