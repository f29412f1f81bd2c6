// Runs the Hub's own client for Python against the local server that takes the place of the Hub in the tests.
// Needs Python 3.11 as `python3.11` or TEST_PYTHON.
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
