import { execFileSync } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'

const workspace = join(import.meta.dirname, '../..')
/** The last file of a build */
const built = join(workspace, 'berth-cli.tgz')
const sources = [
  'src/**/*',
  '../console/src/schedules.ts',
  'bin/*',
  'package.json',
  'rolldown.config.ts',
  '../package-lock.json',
]

/** Builds the command line and its package for all test files, if it is older than its sources. */
export default function build(): void {
  // A build removes the files that tests of another run in this checkout may use.
  if (existsSync(built) && !isNewerThan(statSync(built).mtimeMs)) return
  execFileSync('npm', ['run', 'build'], { cwd: workspace, stdio: ['ignore', 'ignore', 'inherit'] })
}

function isNewerThan(time: number): boolean {
  return globSync(sources, { cwd: workspace }).some((path) => statSync(join(workspace, path)).mtimeMs > time)
}
