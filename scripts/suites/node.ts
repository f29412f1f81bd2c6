import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findCacheFolder, nameVersions, runCommand } from '../../tools/programs.ts'

/** Installs npm packages, each list once in a separate folder, and returns their folder of programs. */
export async function installNode(name: string, packages: readonly string[]): Promise<string> {
  const folder = findCacheFolder(nameVersions(name, packages))
  const mark = join(folder, '.complete')
  if (!existsSync(mark)) {
    await writeFile(join(folder, 'package.json'), '{"private":true}')
    await runCommand('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages])
    await writeFile(mark, '')
  }
  return join(folder, 'node_modules/.bin')
}
