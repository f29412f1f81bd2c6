import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { listEngines, planEngine } from '../../src/adapters/model-runtime/kubernetes/engine-plan.ts'
import type { EnginePlan } from '../../src/adapters/model-runtime/kubernetes/engine-plan.ts'
import { mergeOffers } from '../../src/adapters/model-runtime/merge-offers.ts'
import { toLaunchBody } from '../../src/adapters/model-runtime/xinference/launch.ts'
import { defaultImages } from '../../src/config/runtimes.ts'
import { readCatalogFile } from '../../src/features/catalog/sources/file.ts'
import { findEngine } from '../../src/features/catalog/engine-choice.ts'
import { readInstanceTypesFile } from '../../src/features/placement/instance-types-file.ts'
import { selectInstance } from '../../src/features/placement/instance-selection.ts'
import { sizeOffer } from '../../src/features/placement/size-offer.ts'
import type { PricedOffer, SelectionRules } from '../../src/features/placement/offers.ts'
import { noMinimums } from '../../src/features/placement/serving-capacity.ts'
import type { EngineSpec } from '../../src/ports/model-runtime.ts'
import type { ModelVariant } from '../../src/ports/model-variant.ts'
import { makeOffering } from '../support/engines.ts'
import { llamaServerOptions, vllmOptions } from '../support/engine-options.ts'

const fileOf = (name: string) => fileURLToPath(new URL(`../../../catalog/${name}`, import.meta.url))
const { models } = readCatalogFile(fileOf('models.yaml'))
const variants = models.flatMap((model) => model.variants.map((variant) => ({ variant, tags: model.tags })))
const types = readInstanceTypesFile(fileOf('instance-types.yaml'))
const images = defaultImages
const settings = {
  images,
  gpusPerNode: 8,
  gpuMemoryShare: 0.9,
  huggingFace: { endpoint: 'https://hf.co', token: null },
  mediaDomains: [],
  server: null,
}
const formats = ['pytorch', 'awq', 'gptq', 'fp8', 'ggufv2']
function listOffers(vllm: string = images.vllm): PricedOffer[] {
  const found = types.map(({ name }) => ({ instanceType: name, formats }))
  return mergeOffers(types, found, 0.9).map((offer) => ({
    ...offer,
    pricePerHour: types.find(({ name }) => name === offer.instanceType)!.pricePerHour,
    runtime: makeOffering(listEngines({ ...images, vllm })),
  }))
}
const offers = listOffers()
const rules: SelectionRules = {
  ceilings: { contextTokens: null, parallelSequences: 256 },
  minimums: noMinimums,
}

function readOptions({ engine, args }: EnginePlan): Map<string, string> {
  const options = new Map<string, string>()
  for (const [index, argument] of args.entries()) {
    if (!argument.startsWith('--')) continue
    const next = args[index + 1]
    options.set(argument.slice(2), next === undefined || next.startsWith('--') ? '' : next)
  }
  const known = engine === 'vllm' ? vllmOptions : llamaServerOptions
  for (const [name, value] of options) {
    expect(known[name], `--${name}`).toBeDefined()
    expect(value, `--${name}`).toMatch(known[name]!)
  }
  return options
}

function makeSpec(variant: ModelVariant, instanceType: string, gpuCount: number): EngineSpec | null {
  const offer = offers.find((each) => each.instanceType === instanceType)!
  const sizing = sizeOffer(variant, offer, rules)
  if (sizing === null) return null
  expect(sizing.estimate.totalBytes).toBeLessThanOrEqual(offer.memoryBytes)
  return {
    engineId: '01a1f829-f5d2-744f-b788-baaa79e8fa26',
    deploymentId: '01a1f829-f5d2-744f-b788-baaa79e8fa27',
    modelUid: 'dep-1',
    servedModelName: 'greeter',
    apiKey: 'key',
    clusterId: null,
    variant,
    instanceType,
    gpuCount,
    memoryBytes: sizing.estimate.totalBytes,
    ...sizing.capacity,
  }
}

test('every variant on every instance type that fits: documented options, and numbers that the model and the memory allow', () => {
  let planned = 0
  for (const { variant, tags } of variants) {
    const { considered } = selectInstance(variant, offers, rules, [])
    for (const { offer } of considered.filter(({ fits }) => fits)) {
      const spec = makeSpec(variant, offer.instanceType, offer.gpuCount)!
      const type = types.find(({ name }) => name === offer.instanceType)!
      const result = planEngine(spec, type, settings, variant.weights.kind === 'file' ? 2_400_000 : null)
      if (!('plan' in result)) throw new Error(`${variant.modelName}: ${result.refusal}`)
      const options = readOptions(result.plan)
      planned += 1
      if (result.plan.engine === 'vllm') {
        expect(Number(options.get('max-model-len'))).toBeLessThanOrEqual(variant.contextLength)
        expect(Number(options.get('max-num-seqs'))).toBeLessThanOrEqual(256)
        if (tags.includes('reasoning')) expect(options.has('reasoning-parser'), variant.modelName).toBe(true)
      } else {
        const context = Number(options.get('ctx-size')) / Number(options.get('parallel'))
        expect(context).toBe(spec.contextTokens)
        expect(context).toBeLessThanOrEqual(variant.contextLength)
        if (variant.modelType === 'LLM') expect(options.get('reasoning-format')).toBe('deepseek')
      }
    }
  }
  expect(planned).toBeGreaterThan(10_000)
})

test.each(Object.values(defaultImages.vllm))('every variant runs on some instance type with %s', (vllm) => {
  const ofVersion = listOffers(vllm)
  const infeasible = variants.filter(
    ({ variant }) => selectInstance(variant, ofVersion, rules, []).outcome === 'infeasible',
  )
  expect(infeasible.map(({ variant }) => `${variant.modelName} ${variant.format}`)).toEqual([])
})

test('vLLM 0.14 is too old for the models that it cannot load or parse, and only for these', () => {
  const old = listOffers('vllm/vllm-openai:v0.14.0')
  const outdated = variants.filter(({ variant }) => {
    const { considered } = selectInstance(variant, old, rules, [])
    return considered.every(({ reason }) => reason.includes('vLLM 0.14.0 is too old'))
  })
  const names = [...new Set(outdated.map(({ variant }) => variant.modelName))]
  expect(names).toEqual(
    `qwen3.8 qwen3.6 qwen3.5 qwen3-coder-next mistral-medium-3.5 mistral-small-4 gemma-4 deepseek-v4-flash deepseek-v4-pro deepseek-v3.2
     glm-5.3 glm-5 glm-4.7 glm-4.7-flash kimi-k2.7-code kimi-k2.6 minimax-m3 minimax-m2.7 nemotron-3.5-lightning nemotron-3-super
     granite-4.1 granite-4.0-micro`.split(/\s+/),
  )
  for (const { variant } of outdated) expect(findEngine(variant, old[0]!.runtime.engines)?.name).toBe('vllm')
})

test('Xinference separates the thoughts of the models whose tags it knows', () => {
  // Families of Xinference with reasoning_start_tag and reasoning_end_tag.
  const known = new Set(
    `qwq-32b qwen3 qwen3-thinking qwen3.5 qwen3.6 deepseek-r1-distill-qwen deepseek-r1-distill-llama deepseek-r1-0528-qwen3
     deepseek-r1-0528 deepseek-v3.1 deepseek-v4-flash deepseek-v4-pro gpt-oss glm-4.5 glm-4.7-flash glm-5 seed-oss
     qwen3-vl-thinking qwen3-next-thinking minimax-m2.5 minimax-m2.7 minimax-m3`.split(/\s+/),
  )
  for (const { variant } of variants) {
    const spec = makeSpec(variant, 'h200-x8', 8)
    if (spec === null || variant.modelType !== 'LLM') continue
    const engine = variant.format === 'ggufv2' ? 'llama.cpp' : 'vLLM'
    const body = toLaunchBody(spec, engine, { workerIp: null, gpuMemoryShare: 0.9, upload: null })
    expect(body['reasoning_content'], variant.modelName).toBe(known.has(variant.modelName) ? true : undefined)
    expect(engine === 'vLLM' ? body['max_num_seqs'] : body['n_parallel']).toBe(spec.parallelSequences)
  }
})
