// Loads a small model on the GPU as an engine does, computes, and prints the result. See engine/README.md.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { loadModel } from './model/load-model.ts'
import type { Settings } from './base/settings.ts'

const run = promisify(execFile)
const packages = { 'cuda-13': 'linux-x64-cuda', 'cuda-12': 'linux-x64-cuda-ext' } as const
/** Folders of CUDA's libraries in the packages */
const folders = { 'cuda-13': 'bins/linux-x64-cuda', 'cuda-12': 'bins/linux-x64-cuda/fallback' } as const
type Library = keyof typeof packages

const { model = '' } = parseArgs({ options: { model: { type: 'string' } } }).values
const settings: Settings = {
  stateDirectory: '',
  nonce: '',
  modelPath: model,
  aliases: ['probe'],
  type: 'embedding',
  contextTokens: 64,
  parallel: 1,
  gpuLayers: 'auto',
  requiresGpu: true,
  stateCacheBytes: 0,
  stateCacheGrows: false,
}
const result = await loadModel(settings, (line) => process.stderr.write(`${line}\n`)).then(
  async () => ({ works: true, library: await findLoaded() }),
  async (error: unknown) => ({
    works: false,
    reason: error instanceof Error ? error.message : String(error),
    library: await findLoaded(),
    missing: { 'cuda-13': await findMissing('cuda-13'), 'cuda-12': await findMissing('cuda-12') },
  }),
)
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))

/** The build for CUDA that this process has loaded; null for none */
async function findLoaded(): Promise<Library | null> {
  const maps = await readFile('/proc/self/maps', 'utf8').catch(() => '')
  const path = /\S*libggml-cuda\.so/.exec(maps)?.[0]
  if (path === undefined) return null
  return path.includes('/fallback/') ? 'cuda-12' : 'cuda-13'
}

/** The libraries that a build for CUDA doesn't find on this machine; none if the package isn't installed */
async function findMissing(library: Library): Promise<string[]> {
  const folderOf = (name: Library) => {
    const entry = fileURLToPath(import.meta.resolve(`@node-llama-cpp/${packages[name]}`))
    return join(dirname(dirname(entry)), folders[name])
  }
  try {
    const found = [folderOf('cuda-13'), process.env['LD_LIBRARY_PATH']].filter((path) => path !== undefined)
    const { stdout } = await run('ldd', [join(folderOf(library), 'libggml-cuda.so')], {
      env: { ...process.env, LD_LIBRARY_PATH: found.join(':') },
    })
    return [...stdout.matchAll(/^\s*(\S+) => not found$/gm)].map(([, name]) => name!)
  } catch {
    return []
  }
}
