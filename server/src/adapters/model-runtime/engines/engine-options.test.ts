import { expect, test } from 'vitest'
import type { EngineSpec } from '../../../ports/model-runtime.ts'
import { toExampleSpec, toShownCommand } from './engine-options.ts'
import { buildLlamaServerArguments } from './llama-cpp.ts'
import { buildVllmArguments } from './vllm.ts'

const spec: EngineSpec = {
  ...toExampleSpec({
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
      engines: { vllm: { options: { seed: 1, 'hf-token': 'secret' }, chatTemplate: '/data/template' } },
    },
    instanceType: 'cpu',
    gpuCount: 0,
    memoryBytes: 1,
    contextTokens: 2048,
    parallelSequences: 2,
  }),
}

test('the options of a deployment come last, and vLLM gets the negations of those that are false', () => {
  const args = buildVllmArguments({
    spec: {
      ...spec,
      engineOptions: { seed: 2, 'enable-prefix-caching': false, 'kv-cache-dtype': 'fp8', port: 1 },
    },
    model: 'm',
    host: '127.0.0.1',
    port: 4000,
    gpus: 1,
    computeCapability: null,
    memoryShare: 0.9,
    mediaDomains: [],
  })
  expect(args.join(' ')).toContain('--no-enable-prefix-caching --kv-cache-dtype fp8')
  expect(args.join(' ')).toContain('--seed 2')
  expect(args.join(' ')).toContain('--port 4000')
  const shown = toShownCommand(['vllm', 'serve'], args).join(' ')
  expect(shown).toMatch(/^vllm serve m .*--max-model-len 2048 .*--kv-cache-dtype fp8$/)
  expect(shown).not.toMatch(/127\.0|4000|secret|template|--host|--port|--hf-token/)
})

test('llama-server gets the options of a deployment, without those that are false', () => {
  const args = buildLlamaServerArguments({
    spec: { ...spec, engineOptions: { 'kv-unified': false, 'cache-type-k': 'q8_0', 'context-shift': false } },
    source: { model: '/data/m.gguf' },
    projector: { 'mmproj-url': 'https://example.com/secret' },
    host: '127.0.0.1',
    port: 4000,
    gpuLayers: 0,
    promptCacheMebibytes: 1,
  })
  expect(args.join(' ')).toMatch(/--cache-type-k q8_0 --no-context-shift$/)
  expect(args).not.toContain('--kv-unified')
  expect(toShownCommand(['llama-server'], args).join(' ')).not.toMatch(/data|secret|127|4000/)
})
