import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { makeOffering, serve } from '../../../test/support/engines.ts'
import { readCatalogFile } from '../catalog/sources/file.ts'
import { findVariant } from '../catalog/model.ts'
import { isCommit } from '../catalog/is-commit.ts'
import { selectInstance } from './instance-selection.ts'
import type { PricedOffer, SelectionRules } from './offers.ts'
import { estimateMemory } from './memory-estimate.ts'
import { noMinimums } from './serving-capacity.ts'

const GiB = 2 ** 30
const { models } = readCatalogFile(fileURLToPath(new URL('../../../../catalog/models.yaml', import.meta.url)))
const variants = models.flatMap((model) => model.variants)
const nameOf = (variant: (typeof variants)[number]) =>
  `${variant.modelName} ${variant.sizeInBillions} ${variant.format} ${variant.quantization}`

const capacity = { contextTokens: 8192, parallelSequences: 4 }
const rules: SelectionRules = {
  ceilings: { contextTokens: null, parallelSequences: 256 },
  minimums: noMinimums,
}

/** Nodes of 1, 2, 4 and 8 GPUs with 90 % of their memory for engines. */
function listNodes(gpu: string, usableGiB: number): PricedOffer[] {
  return [1, 2, 4, 8].map((gpuCount) => ({
    instanceType: `${gpuCount} × ${gpu}`,
    region: 'local',
    gpuCount,
    gpuModel: gpu,
    memoryBytes: 0.9 * usableGiB * gpuCount * GiB,
    vendor: 'nvidia',
    computeCapability: 9,
    formats: ['pytorch', 'awq', 'gptq', 'fp8', 'ggufv2'],
    pricePerHour: String(gpuCount * usableGiB),
    runtime: makeOffering(),
  }))
}
const cards = listNodes('80 GB', 79.6)
const largest = listNodes('141 GB', 140).slice(-1)

/** The fewest cards of 80 GB that run a variant; null if 8 are too few. */
function countCards(variant: ModelVariant): number | null {
  const result = selectInstance(variant, cards, rules, [])
  return result.outcome === 'selected' ? result.selection.offer.gpuCount : null
}

test('ids are the names, in lower case', () => {
  for (const { id, modelName } of models) expect(modelName).toBe(id)
})

test('code of a repository runs only from a pinned commit', () => {
  const trusting = variants.filter(({ engines: { vllm } }) => vllm?.options?.['trust-remote-code'] === true)
  expect(trusting.length).toBeGreaterThan(0)
  for (const variant of trusting) {
    const { weights } = variant
    expect(weights.kind === 'huggingface' && isCommit(weights.revision), nameOf(variant)).toBe(true)
  }
})

describe('every variant runs on as many cards as its weights suggest', () => {
  test.each(variants.map((variant) => [nameOf(variant), variant] as const))('%s', (_name, variant) => {
    const estimate = estimateMemory(serve(variant), capacity, { gpuCount: 1 })
    expect(estimate.weightBytes).toBeGreaterThan(0)
    expect(estimate.cacheBytes).toBeGreaterThan(0)
    const enough =
      cards.find(({ memoryBytes }) => estimate.weightBytes * 1.05 <= memoryBytes)?.gpuCount ?? null
    const count = countCards(variant)
    expect([enough, ...(enough === null ? [] : [2 * enough, enough === 8 ? null : enough])]).toContain(count)
    if (count === null) expect(selectInstance(variant, largest, rules, []).outcome).toBe('selected')
  })
})

/** Bytes per request and GPU in mondegreens/apron's vLLM 0.29 and 0.30, with 16,384 prompt tokens. */
test.each<[string, number, number, gpus: number, bytes: number]>([
  ['gemma-4', 31, 262_144, 1, 13_637 * 2_621_440],
  ['qwen3.6', 35, 262_144, 1, 5_514_854_400],
  ['qwen3.8', 27, 262_144, 1, 17_520_656_384],
  ['nemotron-3-nano', 30, 262_144, 1, 1_725_628_416],
  ['deepseek-v4-flash', 284, 262_144, 8, 7_723_261_440],
  ['deepseek-v4-flash', 284, 1_048_576, 8, 10_802_142_720],
  ['glm-5.3', 744, 262_144, 8, 24_281_874_432],
  ['minimax-m3', 427, 262_144, 8, 11_878_268_928],
])(
  'the cache of %s %d for %d tokens is within 4 %% of a trace',
  (id, sizeInBillions, contextTokens, gpuCount, bytes) => {
    const variant = findVariant(
      models.find((model) => model.id === id)!,
      { sizeInBillions, format: 'pytorch' },
    )
    const served =
      variant ??
      findVariant(
        models.find((model) => model.id === id)!,
        { format: 'fp8' },
      )!
    const capacity = { contextTokens, parallelSequences: 1 }
    const { cacheBytes } = estimateMemory(serve(served), capacity, { gpuCount })
    expect(Math.abs(cacheBytes / gpuCount / bytes - 1)).toBeLessThan(0.04)
  },
)

/**
 * Cards of 80 GB by hand: for older models from weights, 5 % of them, the cache of 4 × 8192 tokens and 1.5
 * GiB per card against 71.6 GiB per card; for newer ones from vLLM's recipes. null for 8 cards of 141 GB.
 */
test.each<[string, number, string, number | null]>([
  ['qwen2.5-instruct', 7, 'pytorch', 1],
  ['qwen2.5-instruct', 32, 'pytorch', 2],
  ['llama-3.1-instruct', 70, 'ggufv2', 1],
  ['llama-3.1-instruct', 70, 'fp8', 2],
  ['llama-3.1-instruct', 70, 'pytorch', 4],
  ['qwen3', 235, 'gptq', 2],
  ['qwen3', 235, 'fp8', 4],
  ['qwen3', 235, 'pytorch', 8],
  ['gemma-4', 26, 'pytorch', 1],
  ['gemma-4', 31, 'pytorch', 2],
  ['gpt-oss', 120, 'pytorch', 1],
  ['glm-4.7-flash', 30, 'pytorch', 1],
  ['minimax-m2.7', 230, 'fp8', 4],
  ['deepseek-v4-flash', 284, 'pytorch', 4],
  ['nemotron-3.5-lightning', 30, 'pytorch', 1],
  ['nemotron-3-super', 120, 'pytorch', 4],
  ['deepseek-v3.2', 671, 'fp8', null],
  ['deepseek-v4-pro', 1600, 'pytorch', null],
  ['glm-5.3', 744, 'fp8', null],
  ['kimi-k2.6', 1000, 'pytorch', null],
  ['minimax-m3', 427, 'pytorch', null],
])('%s %d %s: %s cards of 80 GB', (id, sizeInBillions, format, count) => {
  const variant = findVariant(
    models.find((model) => model.id === id)!,
    { sizeInBillions, format },
  )!
  expect(countCards(variant)).toBe(count)
})
