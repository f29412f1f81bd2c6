import { execFile } from 'node:child_process'
import { Console } from 'node:console'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Writable } from 'node:stream'
import { runAdmin as runCommand } from '../../src/process/admin/run-admin.ts'
import { childEnvironment } from './process.ts'
import type { TestServer } from './server.ts'

const root = resolve(import.meta.dirname, '../../..')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const program = join(root, scripts.admin.split(' ').at(-1))

export interface AdminResult {
  code: number
  stdout: string
  stderr: string
}

/** Runs a command of `npm run admin` in this process, with only these settings. */
export async function runAdmin(settings: Record<string, string>, args: string[]): Promise<AdminResult> {
  const [stdout, stderr] = [collect(), collect()]
  const console = new Console({ stdout: stdout.stream, stderr: stderr.stream })
  const code = await runCommand(args, { settings: { ...childEnvironment(), ...settings }, console })
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

function collect(): { stream: Writable; text(): string } {
  const chunks: Buffer[] = []
  const stream = new Writable({ write: (chunk, _encoding, done) => (chunks.push(chunk), done()) })
  return { stream, text: () => Buffer.concat(chunks).toString() }
}

/** Runs the program of `npm run admin` in its own process, as operators do. */
export function spawnAdmin(settings: Record<string, string>, args: string[]): Promise<AdminResult> {
  return new Promise((done) => {
    const options = { env: { ...childEnvironment(), ...settings }, timeout: 120_000 }
    execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
  })
}

/** The settings with which an operator's commands reach a test server. */
export function adminSettings({ application, dataDirectory }: TestServer): Record<string, string> {
  return { DATABASE_URL: application.config.databaseUrl!, DATA_DIR: dataDirectory }
}
