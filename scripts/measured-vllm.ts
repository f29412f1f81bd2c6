import { existsSync, statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { ModelShape } from '../bench/engine/random-model.ts'
import { startHubServer } from '../server/test/support/hub/hub-server.ts'
import { describeRandomRepository } from '../server/test/support/random-models.ts'
import { readRepository, writeVllmCommand } from '../server/test/vllm/vllm-files.ts'
import { runCommand } from './suites/suite.ts'
import { installVllm } from './suites/vllm-environment.ts'

const root = resolve(import.meta.dirname, '..')

/**
 * Settings of a server that runs this model, with random weights, on a real vLLM on the CPU; each engine has
 * one thread.
 */
export async function prepareVllm(
  shape: ModelShape,
  cleanup: AsyncDisposableStack,
): Promise<Record<string, string>> {
  const { environment, model: tokenizer } = await installVllm()
  const model = join(environment, `random-${shape.name}`)
  const weights = join(model, 'model.safetensors')
  if (!existsSync(weights)) {
    const maker = join(root, 'server/test/vllm/make_qwen2.py')
    await runCommand(join(environment, 'bin/python'), [maker, tokenizer, model, JSON.stringify(shape)])
  }
  const folder = await mkdtemp(join(tmpdir(), 'berth-vllm-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const huggingface = 'berth/random'
  const hub = await startHubServer({ [huggingface]: readRepository(model) })
  cleanup.defer(() => hub.close())
  const entry = describeRandomRepository(shape, { huggingface, bytes: statSync(weights).size })
  const catalog = join(folder, 'catalog.yaml')
  await writeFile(catalog, `{"models": [${entry}]}`)
  return {
    CATALOG_FILE: catalog,
    HF_ENDPOINT: hub.origin,
    // By default the threads of all engines are bound to the same processors.
    VLLM_COMMAND: writeVllmCommand(folder, environment, {
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      OMP_NUM_THREADS: '1',
    }),
  }
}
