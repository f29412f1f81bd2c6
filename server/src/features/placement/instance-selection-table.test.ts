import { expect, test } from 'vitest'
import type { ModelArchitecture, ModelVariant } from '../../ports/model-variant.ts'
import { makeOffering, serve } from '../../../test/support/engines.ts'
import { selectInstance } from './instance-selection.ts'
import type { PricedOffer, SelectionRules } from './offers.ts'
import { estimateMemory } from './memory-estimate.ts'
import { noMinimums } from './serving-capacity.ts'

const GiB = 2 ** 30
const capacity = { contextTokens: 8192, parallelSequences: 4 }
const rules: SelectionRules = {
  ceilings: { contextTokens: null, parallelSequences: 256 },
  minimums: noMinimums,
}

/**
 * GiB that known models need on one GPU, by hand, and the instance with the least memory that fits: by need,
 * and by the rule for unknown architectures, 1.2 × weights + 2. `served there`: context × sequences by need.
 */
const table = `
  model            | format         | weights | KV | need | 1.2W+2 | smallest by need | smallest by 1.2W+2 | served there
  Qwen2.5-0.5B     | bf16           |   0.9 |   0.4 |   2.8 |   3.1 | 1xT4 16         | 1xT4 16         | 32768 × 117
  Qwen2.5-0.5B     | fp8/int8       |   0.6 |   0.4 |   2.5 |   2.7 | 1xT4 16         | 1xT4 16         | 32768 × 121
  Qwen2.5-0.5B     | gguf q8_0      |   0.5 |   0.4 |   2.4 |   2.6 | 1xT4 16         | 1xT4 16         | 32768 × 30
  Qwen2.5-0.5B     | gguf q4_k_m    |   0.3 |   0.4 |   2.2 |   2.3 | 1xT4 16         | 1xT4 16         | 32768 × 31
  Qwen2.5-0.5B     | awq/gptq int4  |   0.4 |   0.4 |   2.3 |   2.5 | 1xT4 16         | 1xT4 16         | 32768 × 123
  Qwen2.5-7B       | bf16           |  14.2 |   1.8 |  18.2 |  19.0 | 1xL4 24         | 1xL4 24         | 32768 × 8
  Qwen2.5-7B       | fp8/int8       |   8.3 |   1.8 |  12.0 |  12.0 | 1xT4 16         | 1xT4 16         | 32768 × 7
  Qwen2.5-7B       | gguf q8_0      |   7.5 |   1.8 |  11.2 |  11.0 | 1xT4 16         | 1xT4 16         | 18432 × 4
  Qwen2.5-7B       | gguf q4_k_m    |   4.3 |   1.8 |   7.8 |   7.2 | 1xT4 16         | 1xT4 16         | 32768 × 4
  Qwen2.5-7B       | awq/gptq int4  |   5.3 |   1.8 |   8.8 |   8.3 | 1xT4 16         | 1xT4 16         | 32768 × 14
  Qwen2.5-14B      | bf16           |  27.5 |   6.0 |  36.4 |  35.0 | 1xL40S 48       | 1xL40S 48       | 32768 × 6
  Qwen2.5-14B      | fp8/int8       |  15.6 |   6.0 |  23.9 |  20.7 | 1xL40S 48       | 1xL40S 48       | 32768 × 15
  Qwen2.5-14B      | gguf q8_0      |  14.6 |   6.0 |  22.8 |  19.5 | 1xL40S 48       | 1xL4 24         | 31744 × 4
  Qwen2.5-14B      | gguf q4_k_m    |   8.4 |   6.0 |  16.3 |  12.1 | 1xL4 24         | 1xT4 16         | 13312 × 4
  Qwen2.5-14B      | awq/gptq int4  |   9.4 |   6.0 |  17.4 |  13.3 | 1xL4 24         | 1xT4 16         | 32768 × 5
  Qwen2.5-32B      | bf16           |  61.0 |   8.0 |  73.6 |  75.2 | 2xL40S          | 2xL40S          | 32768 × 6
  Qwen2.5-32B      | fp8/int8       |  32.9 |   8.0 |  44.0 |  41.4 | 1xA100/H100 80  | 1xA100/H100 80  | 32768 × 17
  Qwen2.5-32B      | gguf q8_0      |  32.4 |   8.0 |  43.5 |  40.9 | 1xA100/H100 80  | 1xA100/H100 80  | 32768 × 4
  Qwen2.5-32B      | gguf q4_k_m    |  18.6 |   8.0 |  29.1 |  24.4 | 1xL40S 48       | 1xL40S 48       | 19456 × 4
  Qwen2.5-32B      | awq/gptq int4  |  18.3 |   8.0 |  28.8 |  24.0 | 1xL40S 48       | 1xL40S 48       | 32768 × 9
  Llama-3.1-70B    | bf16           | 131.4 |  10.0 | 149.5 | 159.7 | 4xL40S          | 4xL40S          | 32768 × 7
  Llama-3.1-70B    | fp8/int8       |  69.7 |  10.0 |  84.6 |  85.6 | 1xH200 141      | 1xH200 141      | 32768 × 20
  Llama-3.1-70B    | gguf q8_0      |  69.8 |  10.0 |  84.8 |  85.8 | 1xH200 141      | 1xH200 141      | 32768 × 5
  Llama-3.1-70B    | gguf q4_k_m    |  40.2 |  10.0 |  53.7 |  50.2 | 1xA100/H100 80  | 1xA100/H100 80  | 22528 × 4
  Llama-3.1-70B    | awq/gptq int4  |  37.8 |  10.0 |  51.2 |  47.3 | 1xA100/H100 80  | 1xA100/H100 80  | 32768 × 12
  Qwen3-235B-A22B  | bf16           | 437.9 |   5.9 | 467.2 | 527.5 | 4xH200          | 8xH100 80       | 32768 × 26
  Qwen3-235B-A22B  | fp8/int8       | 226.9 |   5.9 | 245.6 | 274.3 | 2xH200          | 4xH100 80       | 32768 × 7
  Qwen3-235B-A22B  | gguf q8_0      | 232.6 |   5.9 | 251.6 | 281.2 | 4xH100 80       | 4xH100 80       | 32768 × 6
  Qwen3-235B-A22B  | gguf q4_k_m    | 133.8 |   5.9 | 147.9 | 162.6 | 4xL40S          | 2xH200          | 21504 × 4
  Qwen3-235B-A22B  | awq/gptq int4  | 118.0 |   5.9 | 131.3 | 143.6 | 2xH100 80       | 4xL40S          | 32768 × 11
`

const architectures: Record<string, ModelArchitecture> = {
  'Qwen2.5-0.5B': describe(494_032_768, 24, 14, 2, 64, 896, 151_936),
  'Qwen2.5-7B': describe(7_615_616_512, 28, 28, 4, 128, 3584, 152_064),
  'Qwen2.5-14B': describe(14_770_033_664, 48, 40, 8, 128, 5120, 152_064),
  'Qwen2.5-32B': describe(32_763_876_352, 64, 40, 8, 128, 5120, 152_064),
  'Llama-3.1-70B': describe(70_553_706_496, 80, 64, 8, 128, 8192, 128_256),
  'Qwen3-235B-A22B': describe(235_093_634_560, 94, 64, 4, 128, 4096, 151_936),
}

function describe(
  parameters: number,
  layers: number,
  attentionHeads: number,
  kvHeads: number,
  headDimension: number,
  hiddenSize: number,
  vocabularySize: number,
): ModelArchitecture {
  return { parameters, layers, attentionHeads, kvHeads, headDimension, hiddenSize, vocabularySize }
}

const formats: Record<string, [format: string, quantization: string]> = {
  bf16: ['pytorch', 'none'],
  'fp8/int8': ['fp8', 'fp8'],
  'gguf q8_0': ['ggufv2', 'Q8_0'],
  'gguf q4_k_m': ['ggufv2', 'Q4_K_M'],
  'awq/gptq int4': ['awq', 'Int4'],
}

/** The table's offers: a T4, and 1, 2, 4 or 8 of the other GPUs. The price equals the total memory. */
const offers: PricedOffer[] = [
  ...makeOffers('T4 16', 16, 15, 7.5, [1]),
  ...makeOffers('L4 24', 24, 22.5, 8.9),
  ...makeOffers('L40S 48', 48, 45, 8.9),
  ...makeOffers('H100 80', 80, 79.6, 9),
  ...makeOffers('H200 141', 141, 140, 9),
]

function makeOffers(
  gpuModel: string,
  nominal: number,
  usable: number,
  computeCapability: number,
  counts: readonly number[] = [1, 2, 4, 8],
): PricedOffer[] {
  return counts.map((gpuCount) => ({
    instanceType: `${gpuCount}x${gpuModel}`,
    region: 'r',
    gpuCount,
    gpuModel,
    vendor: 'nvidia',
    computeCapability,
    memoryBytes: Math.floor(0.9 * gpuCount * usable * GiB),
    formats: Object.values(formats).map(([format]) => format),
    pricePerHour: String(nominal * gpuCount),
    runtime: makeOffering(),
  }))
}

const rows = table
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.split('|').map((cell) => cell.trim()))

test('the table covers every model and format', () => {
  expect(rows).toHaveLength(Object.keys(architectures).length * Object.keys(formats).length)
})

test.each(rows)('%s %s', (model, format, weights, cache, need, coarse, byNeed, byCoarse, served) => {
  const variant = makeVariant(model, format)
  const estimate = estimateMemory(serve(variant), capacity, { gpuCount: 1 })
  expectAbout(estimate.weightBytes, weights)
  expectAbout(estimate.cacheBytes, cache)
  expectAbout(estimate.totalBytes, need)
  expect(choose(variant)).toMatch(toPattern(byNeed))
  expect(describeCapacity(variant)).toBe(served)

  const unknown = { ...variant, architecture: null, weightBytes: Math.round(estimate.weightBytes) }
  expectAbout(estimateMemory(serve(unknown), capacity, { gpuCount: 1 }).totalBytes, coarse)
  expect(choose(unknown)).toMatch(toPattern(byCoarse))
})

function makeVariant(modelName: string, name: string): ModelVariant {
  const [format, quantization] = formats[name]!
  return {
    modelName,
    modelType: 'LLM',
    format,
    quantization,
    sizeInBillions: 1,
    contextLength: 32_768,
    architecture: architectures[modelName]!,
    weightBytes: null,
    weights: { kind: 'huggingface', repo: 'a/b', revision: 'main', files: [] },
    engines: {},
  }
}

/** The table and its inputs are rounded to one decimal. */
function expectAbout(bytes: number, gibibytes: string): void {
  expect(Math.abs(bytes / GiB - Number(gibibytes))).toBeLessThan(0.1)
}

function choose(variant: ModelVariant): string {
  const result = selectInstance(variant, offers, rules, [])
  return result.outcome === 'selected' ? result.selection.offer.instanceType : result.reason
}

/** What the engine serves on the instance chosen by need: `<context> × <sequences>`. */
function describeCapacity(variant: ModelVariant): string {
  const result = selectInstance(variant, offers, rules, [])
  if (result.outcome === 'infeasible') return result.reason
  const { contextTokens, parallelSequences } = result.selection.sizing.capacity
  return `${contextTokens} × ${parallelSequences}`
}

/** The table names GPUs more loosely than the offers: `1xA100/H100 80`, `2xH200`. */
function toPattern(name: string): RegExp {
  return new RegExp(`^${name.replace('A100/', '')}`)
}
