import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '../../../server/test/support/client.ts'

export const program = join(import.meta.dirname, '../../bin/berth.mjs')
/**
 * The Node.js that runs the command line: the tests' own, or that of TEST_CLI_NODE, such as the oldest
 * supported one
 */
export const node = process.env['TEST_CLI_NODE'] ?? process.execPath

export interface Result {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Running {
  child: ChildProcess
  /** The output so far */
  output: { stdout: string; stderr: string }
  result: Promise<Result>
}

/** A person's shell: an environment with its own configuration folder. */
export interface Shell {
  env: Record<string, string>
  configDirectory: string
  /** Runs `berth` to its end. `input` is what it reads from stdin. */
  berth: (args: readonly string[], input?: string) => Promise<Result>
  /** Starts `berth` */
  start: (args: readonly string[], input?: string) => Running
  /** Runs `berth` with --json, and returns its document. Throws unless it ends with 0. */
  json: (args: readonly string[]) => Promise<any>
  close: () => Promise<void>
}

/** Opens a shell with no settings but these, and optionally with the session of a client. */
export async function openShell(settings: Record<string, string> = {}, session?: Client): Promise<Shell> {
  const configDirectory = await mkdtemp(join(tmpdir(), 'berth-cli-'))
  const env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOME: configDirectory,
    BERTH_CONFIG_DIR: configDirectory,
    ...settings,
    ...(session && { BERTH_SESSION: session.cookie() }),
  }
  const start = (args: readonly string[], input?: string): Running => {
    const child = spawn(node, [program, ...args], {
      env,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    const output = { stdout: '', stderr: '' }
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
    child.stdin?.end(input)
    const result = new Promise<Result>((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal, ...output }))
    })
    return { child, output, result }
  }
  const berth = (args: readonly string[], input?: string) => start(args, input).result
  return {
    env,
    configDirectory,
    berth,
    start,
    async json(args) {
      const { code, stdout, stderr } = await berth([...args, '--json'])
      if (code !== 0) throw new Error(`berth ${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
    close: () => rm(configDirectory, { recursive: true, force: true }),
  }
}
