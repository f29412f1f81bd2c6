// Renders llama-cpp-python's public chat templates with the engine and, in the settings of transformers, with
// Jinja2. Needs Python 3.11 as `python3.11` or TEST_PYTHON.
import { existsSync, globSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { explainMissingPython, installPython } from '../../tools/python.ts'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'

await runSuite('templates', async () => {
  const missing = explainMissingPython()
  if (missing !== null) throw new Error(missing)
  const environment = await installPython('jinja2-3.1.6', ['jinja2==3.1.6'])
  const folder = findCacheFolder('llama-cpp-python-templates')
  if (!existsSync(join(folder, 'templates'))) await fetchTemplates(environment, folder)
  await runCommand('vitest', ['run', '--project', 'templates'], {
    TEST_TEMPLATES: join(folder, 'templates'),
    TEST_TEMPLATES_PYTHON: join(environment, 'bin/python'),
  })
})

/** Unpacks the templates of the newest source package. Nothing in it is run. */
async function fetchTemplates(environment: string, folder: string): Promise<void> {
  const wanted = ['--no-deps', '--no-binary', 'llama-cpp-python', '--dest', folder, 'llama-cpp-python']
  await runCommand(join(environment, 'bin/pip'), ['download', '--quiet', ...wanted])
  const [archive] = globSync(join(folder, '*.tar.gz'))
  const pattern = '*/vendor/llama.cpp/models/templates/*.jinja'
  await runCommand('tar', ['xzf', archive!, '-C', folder, '--wildcards', '--strip-components=4', pattern])
  await rm(archive!)
}
