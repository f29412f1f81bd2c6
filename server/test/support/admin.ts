import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
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

/** Runs the program of `npm run admin` with only these settings. */
export function runAdmin(settings: Record<string, string>, args: string[]): Promise<AdminResult> {
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
