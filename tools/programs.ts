import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { once } from 'node:events'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

/** A cache of installed programs for suites: below `BERTH_SUITES`, default `~/.cache/berth-suites`. */
export function findCacheFolder(name: string): string {
  const folder = join(process.env['BERTH_SUITES'] ?? join(homedir(), '.cache/berth-suites'), name)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** Appends a digest of versions to a name, so that other versions get another folder. */
export function nameVersions(name: string, versions: readonly string[]): string {
  const digest = createHash('sha256').update(versions.join('\n')).digest('hex')
  return `${name}-${digest.slice(0, 8)}`
}

/** Runs a command of this checkout or of the system with its output shown. Throws if it fails. */
export async function runCommand(
  program: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<void> {
  const path = `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`
  const child = spawn(program, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: path, ...environment },
  })
  const stop = () => void child.kill()
  process.on('SIGTERM', stop).on('SIGINT', stop)
  const [code] = (await once(child, 'exit')) as [number | null]
  process.off('SIGTERM', stop).off('SIGINT', stop)
  if (code !== 0) throw new Error(`${program} ${args[0] ?? ''} ended with exit code ${code}.`)
}
