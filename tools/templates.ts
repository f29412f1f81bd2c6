import { existsSync, globSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findCacheFolder, runCommand } from './programs.ts'
import { installPython } from './python.ts'

/** Installs Jinja2. Returns the folder of its environment. */
export function installJinja(): Promise<string> {
  return installPython('jinja2-3.1.6', ['jinja2==3.1.6'])
}

/**
 * Downloads the public chat templates of llama-cpp-python's newest source package, once, and returns their
 * folder. Nothing in the package is run.
 */
export async function fetchTemplates(): Promise<string> {
  const folder = findCacheFolder('llama-cpp-python-templates')
  const templates = join(folder, 'templates')
  if (existsSync(templates)) return templates
  const pip = join(await installJinja(), 'bin/pip')
  const wanted = ['--no-deps', '--no-binary', 'llama-cpp-python', '--dest', folder, 'llama-cpp-python']
  await runCommand(pip, ['download', '--quiet', ...wanted])
  const [archive] = globSync(join(folder, '*.tar.gz'))
  const pattern = '*/vendor/llama.cpp/models/templates/*.jinja'
  await runCommand('tar', ['xzf', archive!, '-C', folder, '--wildcards', '--strip-components=4', pattern])
  await rm(archive!)
  return templates
}
