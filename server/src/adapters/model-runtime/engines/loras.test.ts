import { expect, test } from 'vitest'
import type { EngineLora, EngineSpec } from '../../../ports/model-runtime.ts'
import { buildLlamaServerArguments } from './llama-cpp.ts'
import { buildVllmArguments } from './vllm.ts'

const lora = (modelId: string, rank: number): EngineLora => ({
  modelId,
  modelName: `name of ${modelId}`,
  format: 'lora-peft',
  rank,
  weightBytes: 1000,
  weights: { kind: 'file', path: modelId },
})

const spec: EngineSpec = {
  engineId: 'e',
  deploymentId: 'd',
  modelUid: 'dep-1',
  servedModelName: 'greeter',
  apiKey: 'key',
  clusterId: null,
  variant: {
    modelName: 'm',
    modelType: 'LLM',
    format: 'pytorch',
    sizeInBillions: 1,
    quantization: 'none',
    contextLength: 2048,
    architecture: null,
    weightBytes: 1,
    weights: { kind: 'file', path: 'm' },
    engines: {},
  },
  loras: [lora('one', 4), lora('two', 40)],
  instanceType: 'cpu',
  gpuCount: 0,
  memoryBytes: 1,
  contextTokens: 2048,
  parallelSequences: 2,
}
const place = { host: '127.0.0.1', port: 1 }

function valueOf(args: readonly string[], option: string): string | undefined {
  const index = args.indexOf(`--${option}`)
  return index === -1 ? undefined : args[index + 1]
}

test('llama-server loads LoRAs without applying them, and has no cache that mixes their states', () => {
  const launch = {
    spec,
    source: { model: 'm.gguf' },
    projector: null,
    ...place,
    gpuLayers: 0,
    promptCacheMebibytes: 64,
  }
  const args = buildLlamaServerArguments({ ...launch, loras: ['/a/1.gguf', '/a/2.gguf'] })
  expect(valueOf(args, 'lora')).toBe('/a/1.gguf,/a/2.gguf')
  expect(args).toContain('--lora-init-without-apply')
  expect(valueOf(args, 'cache-ram')).toBe('0')
  const without = buildLlamaServerArguments(launch)
  expect(valueOf(without, 'cache-ram')).toBe('64')
  expect(without).not.toContain('--lora')
})

test('vLLM gets LoRAs by their ids, and room for all of them at the next rank', () => {
  const launch = {
    spec,
    model: '/m',
    ...place,
    gpus: 1,
    computeCapability: 9,
    memoryShare: 0.9,
    mediaDomains: [],
  }
  const args = buildVllmArguments({ ...launch, loras: ['/a/1', '/a/2'] })
  expect(args.slice(args.indexOf('--lora-modules') + 1).slice(0, 2)).toEqual(['one=/a/1', 'two=/a/2'])
  expect(valueOf(args, 'max-loras'), 'with an empty place on the CPU').toBe('3')
  const onGpu = buildVllmArguments({ ...launch, spec: { ...spec, gpuCount: 1 }, loras: ['/a/1', '/a/2'] })
  expect(valueOf(onGpu, 'max-loras')).toBe('2')
  expect(valueOf(args, 'max-lora-rank')).toBe('64')
  expect(buildVllmArguments(launch)).not.toContain('--enable-lora')
})
