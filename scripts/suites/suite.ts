import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { once } from 'node:events'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const root = resolve(import.meta.dirname, '../..')

/**
 * Runs a suite that needs components from outside the repository. Reports its duration, and undoes its steps
 * in reverse order.
 */
export async function runSuite(
  name: string,
  run: (cleanUps: (() => void | Promise<void>)[]) => Promise<void>,
): Promise<void> {
  const startedAt = performance.now()
  const cleanUps: (() => void | Promise<void>)[] = []
  const cleanUp = async () => {
    for (const step of cleanUps.splice(0).toReversed()) await step()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => void cleanUp().finally(() => process.exit(1)))
  }
  try {
    await run(cleanUps)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
  await cleanUp()
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`${name}: ${process.exitCode === 1 ? 'failed' : 'passed'} after ${seconds} s`)
}

/**
 * A folder for programs that suites install, which later runs reuse: below `BERTH_SUITES`, default
 * `~/.cache/berth-suites`.
 */
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

/** Waits until a URL answers with any status. */
export async function waitForUrl(url: string, seconds = 120): Promise<void> {
  for (let attempt = 0; attempt < seconds * 4; attempt += 1) {
    const answer = await fetch(url).catch(() => null)
    if (answer !== null) return
    await sleep(250)
  }
  throw new Error(`${url} did not answer within ${seconds} seconds.`)
}
