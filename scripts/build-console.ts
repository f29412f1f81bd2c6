// Builds the web console where it is missing or older than its sources. `npm start` does it first, `npm run build` by itself.
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
  'vite.config.ts',
  'package.json',
  '../package-lock.json',
]

/** Where the server finds the built console. */
const consoleDist = join(folder, 'dist')

/** Builds `console/dist` if need be; tells whether it is there afterwards. Without Vite (an install without development packages) it leaves it. */
export function buildConsole(): boolean {
  const built = join(consoleDist, 'index.html')
  if (existsSync(built) && !isNewerThan(statSync(built).mtimeMs)) return true
  const vite = findVite()
  if (!vite) return existsSync(built)

  // Elsewhere first: a build that is broken off must not leave half a console.
  const fresh = mkdtempSync(join(folder, '.dist-'))
  try {
    const { status, stderr } = spawnSync(
      process.execPath,
      [vite, 'build', '--outDir', fresh, '--emptyOutDir', '--logLevel', 'warn'],
      // Whatever this process is: started by a test runner, it would else build React for development.
      { cwd: folder, encoding: 'utf8', env: { ...process.env, NODE_ENV: 'production' } },
    )
    if (status !== 0) throw new Error(`The console could not be built.\n${stderr}`)
    // Another account may run the server than the one that builds.
    chmodSync(fresh, 0o755)
    try {
      rmSync(consoleDist, { recursive: true, force: true })
      renameSync(fresh, consoleDist)
    } catch (error) {
      // Another process that starts at the same moment was quicker.
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
