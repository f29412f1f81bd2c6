// Plays the same facts against real servers that Berth does not run: llama-server, LiteLLM's proxy of it, and
// vLLM on the CPU if `npm run test:vllm` has installed it. Then clients use a cloud provider's double. Needs
// Python 3.11 as `python3.11` or TEST_PYTHON.
import { installLiteLlm } from '../../bench/targets/litellm.ts'
import { findLlamaServer } from '../../tools/models.ts'
import { runCommand } from '../../tools/programs.ts'
import { explainMissingPython } from '../../tools/python.ts'
import { runSuite } from './suite.ts'
import { findVllm } from './vllm-environment.ts'

await runSuite('endpoints', async () => {
  const missing = explainMissingPython()
  if (missing !== null) throw new Error(missing)
  const vllm = findVllm()
  if (vllm === null) {
    console.log('vLLM is not installed, so its tests are skipped. `npm run test:vllm` installs it.')
  }
  await runCommand('vitest', ['run', '--project', 'endpoints', ...process.argv.slice(2)], {
    TEST_LLAMA_SERVER: JSON.stringify(await findLlamaServer()),
    TEST_LITELLM: await installLiteLlm(),
    ...(vllm !== null && { TEST_VLLM: vllm.environment, TEST_VLLM_MODEL: vllm.model }),
  })
  await runCommand('vitest', ['run', '--project', 'slow', 'client.slow', 'openai-responses'], {
    TEST_CLIENTS_OF: 'endpoint',
  })
})
