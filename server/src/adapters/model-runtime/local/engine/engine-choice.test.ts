import { expect, test } from 'vitest'
import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import { openEngines } from './engine-choice.ts'
import { describeHost } from '../host.ts'
import { takeInventory } from '../inventory/inventory.ts'
import type { FoundEngine } from '../inventory/types.ts'
import type { LocalRuntimeSettings } from '../settings.ts'

const settings: LocalRuntimeSettings = {
  dataDirectory: '/data',
  catalogDirectory: '/catalog',
  huggingFace: { endpoint: 'https://hf.co', token: null },
  environment: { NODE_LLAMA_CPP_GPU: 'false' },
  logger: { info: () => {}, warn: () => {} },
}
const spec: EngineSpec = {
  engineId: 'e',
  deploymentId: 'd',
  modelUid: 'dep-d',
  servedModelName: 'm',
  apiKey: 'key',
  clusterId: null,
  variant: {
    modelName: 'm',
    modelType: 'LLM',
    format: 'ggufv2',
    sizeInBillions: 1,
    quantization: 'Q8_0',
    contextLength: 4096,
    architecture: null,
    weightBytes: null,
    weights: { kind: 'file', path: 'm.gguf' },
    engines: {},
  },
  instanceType: 'local-cpu',
  gpuCount: 0,
  memoryBytes: 1,
  contextTokens: 1024,
  parallelSequences: 2,
}
const weights = { model: '/m.gguf', projector: null, loras: [] }
const host = {
  gpus: null,
  hidesGpus: false,
  gpuModel: null,
  computeCapability: null,
  memoryShare: 0.9,
  rights: { account: null, prefix: [], cacheDirectory: '/data/compile-cache' },
}

const containment = {
  rights: host.rights,
  prepareProbe: async () => host.rights,
  prepare: async () => host.rights,
}

test.each([
  ['the embedded engine', {}, '--state-cache-mib'],
  ['llama-server', { llamaServerCommand: [process.execPath, '-e', ''] as const }, '--cache-ram'],
])('%s may keep as many states as the offer says, by default 128 MiB', async (_name, engine, option) => {
  for (const [stateCacheBytes, mebibytes] of [
    [undefined, 128],
    [0, 0],
    [64 * 2 ** 20, 64],
  ] as const) {
    const chosen = { ...settings, ...engine, stateCacheBytes }
    const engines = openEngines(chosen, await takeInventory(chosen, containment))
    const { args } = await engines.build(spec, weights, host)
    expect(args.slice(args.indexOf(option), args.indexOf(option) + 2)).toEqual([option, String(mebibytes)])
    const [offer] = describeHost(chosen, ['ggufv2'], [])
    expect(offer?.offer.stateCacheBytes).toBe(mebibytes * 2 ** 20)
  }
})

test('installed versions are offered, and an engine has the one that its spec names', async () => {
  const install = (version: string, origin: FoundEngine['origin'] = 'installed'): FoundEngine => ({
    name: 'vllm',
    title: 'vLLM',
    origin,
    command: [`/vllm-${version}/bin/vllm`],
    version,
    usesCpu: true,
    problem: null,
    installation: `/vllm-${version}`,
  })
  const newest = install('0.33.0')
  const broken = { ...install('0.32.0'), problem: { kind: 'broken', detail: 'it hangs' } as const }
  const others = [broken, install('0.31.0'), install('0.30.0', 'path')]
  const open = (chosen: FoundEngine, engines = [newest, ...others]) =>
    openEngines(settings, { engines, chosen: [chosen], devices: [], unseen: null, cudaFolders: [] })
  const programOf = async (engineVersion: string | undefined, engines = open(newest)) => {
    const variant = { ...spec.variant, format: 'pytorch', weights: { kind: 'file', path: 'm' } as const }
    const { args } = await engines.build({ ...spec, variant, engineVersion }, weights, host)
    return args[args.indexOf('--') + 1]
  }
  expect(open(newest).list[0]).toMatchObject({ version: '0.33.0', versions: ['0.33.0', '0.31.0'] })
  expect(await programOf('0.31.0')).toBe('/vllm-0.31.0/bin/vllm')
  expect(await programOf(undefined)).toBe('/vllm-0.33.0/bin/vllm')
  expect(await programOf('0.32.0'), 'one that is gone').toBe('/vllm-0.33.0/bin/vllm')
  const ofPath = open(others[2]!)
  expect(ofPath.list[0]).not.toHaveProperty('versions')
  expect(await programOf('0.31.0', ofPath)).toBe('/vllm-0.30.0/bin/vllm')
})

test.each([
  ['in DATA_DIR, which outlives a container', undefined, '/data/compile-cache/cuda'],
  ['where CUDA_CACHE_PATH says', '/cache', '/cache'],
])('an engine with GPUs sees only them, and keeps what CUDA compiles %s', async (_name, given, path) => {
  const environment = { ...settings.environment, CUDA_CACHE_PATH: given }
  const chosen = { ...settings, environment }
  const engines = openEngines(chosen, await takeInventory(chosen, containment))
  const onGpus = await engines.build(spec, weights, { ...host, gpus: ['GPU-a', 'GPU-b'] })
  expect(onGpus.variables).toMatchObject({ CUDA_VISIBLE_DEVICES: 'GPU-a,GPU-b', CUDA_CACHE_PATH: path })
  const onHost = await engines.build(spec, weights, host)
  expect(onHost.variables).not.toHaveProperty('CUDA_CACHE_PATH')
})
