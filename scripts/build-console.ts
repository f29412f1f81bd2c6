// Builds the web console if it is missing or older than its sources. `npm start` and `npm run build` call it.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../console', import.meta.url))
const sources = [
  'src/**/*',
  'public/**/*',
  'frames/**/*',
  'index.html',
  '*first-views.ts',
  'vite.config.ts',
  'package.json',
  '../package-lock.json',
]

/** The folder with the console's files for the server. */
const consoleDist = join(folder, 'dist')

/** Builds `console/dist` if necessary and if Vite, a development dependency, exists. True if it exists. */
export function buildConsole(): boolean {
  const built = join(consoleDist, 'index.html')
  if (existsSync(built) && !isNewerThan(statSync(built).mtimeMs)) return true
  const vite = findVite()
  if (!vite) return existsSync(built)

  // Build into a new folder, so that an aborted build leaves no partial console.
  const fresh = mkdtempSync(join(folder, '.dist-'))
  try {
    const { status, stderr } = spawnSync(
      process.execPath,
      [vite, 'build', '--outDir', fresh, '--emptyOutDir', '--logLevel', 'warn'],
      // Overrides NODE_ENV, because a test runner's value would build the development version of React.
      { cwd: folder, encoding: 'utf8', env: { ...process.env, NODE_ENV: 'production' } },
    )
    if (status !== 0) throw new Error(`The console build failed.\n${stderr}`)
    // The server may run under another account.
    chmodSync(fresh, 0o755)
    try {
      rmSync(consoleDist, { recursive: true, force: true })
      renameSync(fresh, consoleDist)
    } catch (error) {
      // Another process may have built the console at the same time.
      if (!existsSync(built)) throw error
    }
    return true
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function isNewerThan(time: number): boolean {
  return globSync(sources, { cwd: folder }).some((path) => {
    const file = statSync(join(folder, path))
    return file.isFile() && file.mtimeMs > time
  })
}

function findVite(): string | null {
  try {
    const manifest = createRequire(join(folder, 'package.json')).resolve('vite/package.json')
    return join(dirname(manifest), 'bin/vite.js')
  } catch {
    return null
  }
}

if (import.meta.main && !buildConsole()) {
  console.error('Vite is not installed: run `npm ci` without --omit=dev.')
  process.exitCode = 1
}
