// Renders llama-cpp-python's public chat templates with the engine and, in the settings of transformers, with
// Jinja2. Needs Python 3.11 as `python3.11` or TEST_PYTHON.
import { join } from 'node:path'
import { explainMissingPython } from '../../tools/python.ts'
import { runCommand } from '../../tools/programs.ts'
import { fetchTemplates, installJinja } from '../../tools/templates.ts'
import { runSuite } from './suite.ts'

await runSuite('templates', async () => {
  const missing = explainMissingPython()
  if (missing !== null) throw new Error(missing)
  await runCommand('vitest', ['run', '--project', 'templates', ...process.argv.slice(2)], {
    TEST_TEMPLATES: await fetchTemplates(),
    TEST_TEMPLATES_PYTHON: join(await installJinja(), 'bin/python'),
  })
})
