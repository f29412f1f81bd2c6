// Runs deployments on this host's idle NVIDIA GPUs. Caches random weights in the shapes of three models (10
// GB). With LLAMA_SERVER_COMMAND, llama-server serves them instead of the embedded engine. `-- --first-hour`
// does what a person does on a new machine with a driver: installs CUDA's runtime and vLLM (12 GB), deploys
// with both, on shares and beside a foreign program, and ends with a table of the results.
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'
import { installVllm } from './vllm-environment.ts'

const firstHour = 'server/test/gpu/first-hour'

await runSuite('gpu', async () => {
  const { values } = parseArgs({ options: { 'first-hour': { type: 'boolean' } } })
  try {
    process.stdout.write(execFileSync('nvidia-smi', ['-L'], { encoding: 'utf8' }))
  } catch {
    throw new Error('nvidia-smi found no GPU. This suite needs a host with an NVIDIA GPU.')
  }
  if (values['first-hour'] !== true) {
    return runCommand('vitest', ['run', '--project', 'gpu', '--exclude', `${firstHour}/**`])
  }
  const problem = (error: unknown) => (error instanceof Error ? error.message : String(error))
  const installed = await installVllm().catch((error: unknown) => ({ model: '', problem: problem(error) }))
  await runCommand('vitest', ['run', '--project', 'gpu', firstHour], {
    TEST_GPU_DATA_DIR: findCacheFolder('engines'),
    TEST_VLLM_MODEL: installed.model,
    TEST_VLLM_PROBLEM: 'problem' in installed ? `vLLM could not be installed: ${installed.problem}` : '',
  })
})
