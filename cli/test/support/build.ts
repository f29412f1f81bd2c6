import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const workspace = join(import.meta.dirname, '../..')

/** Builds the command line once for all test files of a run. */
export default function build(): void {
  const manifest = createRequire(join(workspace, 'package.json')).resolve('rolldown/package.json')
  const program = join(dirname(manifest), 'bin/cli.mjs')
  execFileSync(process.execPath, [program, '--config'], {
    cwd: workspace,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
