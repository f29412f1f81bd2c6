// Runs the Hub's Python client against the tests' Hub. Needs Python 3.11 as `python3.11` or TEST_PYTHON.
import { installPython } from '../../tools/python.ts'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'

const huggingfaceHub = '2.4.0'

await runSuite('hub', async () => {
  await runCommand('vitest', ['run', '--project', 'hub'], {
    TEST_HUGGINGFACE_HUB: await installPython(`huggingface-hub-${huggingfaceHub}`, [
      `huggingface_hub==${huggingfaceHub}`,
    ]),
  })
})
