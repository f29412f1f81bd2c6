// Runs unmodified clients from PyPI against a complete server with the embedded engine. Needs Python 3.11 as `python3.11` or TEST_PYTHON.
import { installPython } from './python.ts'
import { runCommand, runSuite } from './suite.ts'

const pydanticAi = '2.66.0'

await runSuite('clients', async () => {
  const environment = await installPython(`pydantic-ai-${pydanticAi}`, [
    `pydantic-ai-slim[openai]==${pydanticAi}`,
  ])
  await runCommand('vitest', ['run', '--project', 'clients'], { TEST_PYDANTIC_AI: environment })
})
