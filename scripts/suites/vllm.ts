// Runs a complete server with a real vLLM on the CPU. Installs two versions with `engines install` (6 GB
// each, mostly PyTorch) and converts the bundled model. Needs uv, or Python 3.10 or newer with venv, and
// x86-64. `RECORD=yes` records responses. `-- --code 0.33.0` runs the Python code of a newer version,
// `-- versions` only the files of this name.
import { parseArgs } from 'node:util'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'
import { installNewerCode, installVllm, olderVersion, vllmVersion } from './vllm-environment.ts'

await runSuite('vllm', async () => {
  const { values, positionals } = parseArgs({ options: { code: { type: 'string' } }, allowPositionals: true })
  const { environment, model, reranker } = await installVllm()
  await runCommand('vitest', ['run', '--project', 'vllm', ...positionals], {
    TEST_VLLM: values.code === undefined ? environment : await installNewerCode(environment, values.code),
    TEST_VLLM_INSTALLATION: environment,
    TEST_VLLM_VERSION: vllmVersion,
    TEST_VLLM_OLDER: olderVersion,
    TEST_VLLM_MODEL: model,
    TEST_VLLM_RERANKER: reranker,
  })
})
