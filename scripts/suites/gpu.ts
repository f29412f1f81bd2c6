// Runs deployments on this host's idle NVIDIA GPUs. Caches random weights in the shapes of three models (10
// GB). With LLAMA_SERVER_COMMAND, llama-server serves them instead of the embedded engine.
import { execFileSync } from 'node:child_process'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'

await runSuite('gpu', async () => {
  try {
    process.stdout.write(execFileSync('nvidia-smi', ['-L'], { encoding: 'utf8' }))
  } catch {
    throw new Error('nvidia-smi found no GPU. This suite needs a host with an NVIDIA GPU.')
  }
  await runCommand('vitest', ['run', '--project', 'gpu'])
})
