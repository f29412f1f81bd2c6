import { existsSync } from 'node:fs'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'
import { installVllm, vllmVersion } from './vllm-environment.ts'

const image = `berth.local/vllm-cpu:${vllmVersion}`
const program = `#!/usr/bin/python3
import sys
from vllm.entrypoints.cli.main import main
# vLLM imports this file again in its processes.
if __name__ == '__main__':
    sys.exit(main())
`

/**
 * Makes an image of vLLM for the CPU from Debian bookworm, which has the same Python version, for the
 * cluster's current nodes. Later nodes don't get it. Nodes need 12 GB for it. Returns settings of the tests.
 */
export async function loadVllmImage(
  ask: (...args: string[]) => Promise<string>,
): Promise<Record<string, string>> {
  const { environment, model } = await installVllm()
  const folder = findCacheFolder('vllm-image')
  await ask('suite', folder, 'bookworm', 'python3', 'libnuma1')
  if (!existsSync(join(folder, 'usr/bin/vllm'))) {
    // Hard links save 6 GB.
    const packages = join(environment, 'lib/python3.11/site-packages')
    await runCommand('cp', ['-al', packages, join(folder, 'opt/vllm')])
    await writeFile(join(folder, 'usr/bin/vllm'), program)
    await chmod(join(folder, 'usr/bin/vllm'), 0o755)
  }
  // Without the last setting, vLLM's cache takes a share of the machine's memory.
  const environmentOfPods = ['PATH=/usr/bin:/bin', 'PYTHONPATH=/opt/vllm', 'VLLM_CPU_KVCACHE_SPACE=1']
  const archive = await ask('image', 'make', folder, image, JSON.stringify({ Env: environmentOfPods }))
  await ask('image', 'load', archive)
  await rm(archive)
  return { TEST_VLLM_IMAGE: image, TEST_VLLM_MODEL: model }
}
