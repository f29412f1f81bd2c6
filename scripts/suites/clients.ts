// Runs unmodified clients from PyPI against a complete server with the embedded engine: pydantic-ai, and Open WebUI (several GB, mostly
// PyTorch). Needs Python 3.11 as `python3.11` or TEST_PYTHON.
import { installPython } from './python.ts'
import { runCommand, runSuite } from './suite.ts'

const pydanticAi = '2.66.0'
const openWebui = '0.12.4'

await runSuite('clients', async () => {
  await runCommand('vitest', ['run', '--project', 'clients'], {
    TEST_PYDANTIC_AI: await installPython(`pydantic-ai-${pydanticAi}`, [
      `pydantic-ai-slim[openai]==${pydanticAi}`,
    ]),
    TEST_OPEN_WEBUI: await installPython(
      `open-webui-${openWebui}`,
      [`open-webui==${openWebui}`],
      ['torch==2.13.0'],
    ),
  })
})
