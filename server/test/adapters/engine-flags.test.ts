import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { listEngines, planEngine } from '../../src/adapters/model-runtime/kubernetes/engine-plan.ts'
import type { EnginePlan } from '../../src/adapters/model-runtime/kubernetes/engine-plan.ts'
import { mergeOffers } from '../../src/adapters/model-runtime/merge-offers.ts'
import { toLaunchBody } from '../../src/adapters/model-runtime/xinference/launch.ts'
import { readCatalogFile } from '../../src/features/catalog/sources/file.ts'
import { vllmReasoningParsers, vllmToolParsers } from '../../src/features/catalog/engine-profiles.ts'
import { findEngine } from '../../src/features/catalog/engine-choice.ts'
import { readInstanceTypesFile } from '../../src/features/placement/instance-types-file.ts'
import { selectInstance, sizeOffer } from '../../src/features/placement/instance-selection.ts'
import type { SelectionRules } from '../../src/features/placement/instance-selection.ts'
import { noMinimums } from '../../src/features/placement/serving-capacity.ts'
import type { EngineSpec, ModelVariant } from '../../src/ports/model-runtime.ts'

const fileOf = (name: string) => fileURLToPath(new URL(`../../../catalog/${name}`, import.meta.url))
const { models } = readCatalogFile(fileOf('models.yaml'))
const variants = models.flatMap((model) => model.variants.map((variant) => ({ variant, tags: model.tags })))
const types = readInstanceTypesFile(fileOf('instance-types.yaml'), 'usd')
const images = {
  vllm: 'vllm/vllm-openai:v0.28.0',
  llamaCpp: 'ghcr.io/ggml-org/llama.cpp:server-cuda-b10964',
}
const settings = {
  images,
  gpusPerNode: 8,
  gpuMemoryShare: 0.9,
  huggingFace: { endpoint: 'https://hf.co', token: null },
  mediaDomains: [],
}
const formats = ['pytorch', 'awq', 'gptq', 'fp8', 'ggufv2']
const offers = mergeOffers(
  types,
  types.map(({ name }) => ({ instanceType: name, formats })),
  0.9,
).map((offer) => ({
  ...offer,
  pricePerHour: types.find(({ name }) => name === offer.instanceType)!.pricePerHour,
}))

function makeRules(vllm = images.vllm): SelectionRules {
  return {
    engines: listEngines({ ...images, vllm }),
    ceilings: { contextTokens: null, parallelSequences: 256 },
    shared: { contextTokens: 8192, parallelSequences: 4 },
    minimums: noMinimums,
  }
}

const bare = /^$/
const count = /^[1-9]\d*$/
const anyText = /./s
const oneOf = (words: readonly string[]) => new RegExp(`^(${words.join('|')})$`)

/** The options of `vllm serve` in 0.28 that Berth uses, with their values. */
const vllmOptions: Record<string, RegExp> = {
  revision: anyText,
  'tokenizer-revision': anyText,
  'served-model-name': anyText,
  host: /^0\.0\.0\.0$/,
  port: count,
  'max-model-len': count,
  'max-num-seqs': count,
  'tensor-parallel-size': /^[1248]$/,
  'gpu-memory-utilization': /^0\.\d+$/,
  'allowed-media-domains': /^none\.invalid$/,
  dtype: /^half$/,
  quantization: /^fp8$/,
  runner: /^pooling$/,
  'enable-auto-tool-choice': bare,
  'tool-call-parser': oneOf(vllmToolParsers),
  'reasoning-parser': oneOf(vllmReasoningParsers),
  'chat-template': /^\/vllm-workspace\/examples\/tool_chat_template_[\w.]+\.jinja$/,
  'trust-remote-code': bare,
  'tokenizer-mode': /^(deepseek_v32|deepseek_v4|mistral)$/,
  'config-format': /^mistral$/,
  'load-format': /^mistral$/,
  'kv-cache-dtype': /^fp8$/,
  'block-size': count,
  'enable-expert-parallel': bare,
  'chat-template-content-format': /^string$/,
}

/** The options of `llama-server` in b10964 that Berth uses, with their values. */
const llamaServerOptions: Record<string, RegExp> = {
  'hf-repo': /^[\w.-]+\/[\w.-]+$/,
  'hf-file': /\.gguf$/,
  model: /\.gguf$/,
  'model-url': /^https:\/\/.+\.gguf/,
  mmproj: /\.gguf$/,
  'mmproj-url': /^https:\/\/.+\.gguf$/,
  'no-mmproj': bare,
  alias: anyText,
  'ctx-size': count,
  parallel: count,
  'n-gpu-layers': count,
  device: /^CUDA0(,CUDA[1-7])*$/,
  host: /^0\.0\.0\.0$/,
  port: count,
  metrics: bare,
  embeddings: bare,
  'batch-size': count,
  'ubatch-size': count,
  'cache-ram': count,
  jinja: bare,
  'reasoning-format': /^deepseek$/,
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
  const sizing = sizeOffer(variant, offer, makeRules())
  if (sizing === null) return null
  expect(sizing.estimate.totalBytes).toBeLessThanOrEqual(offer.memoryBytes)
  return {
    deploymentId: '01a1f829-f5d2-744f-b788-baaa79e8fa26',
    modelUid: 'dep-1',
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
    const { considered } = selectInstance(variant, offers, makeRules(), [])
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

test('every variant runs on some instance type with vLLM 0.28 and llama.cpp b10964', () => {
  const infeasible = variants.filter(
    ({ variant }) => selectInstance(variant, offers, makeRules(), []).outcome === 'infeasible',
  )
  expect(infeasible.map(({ variant }) => `${variant.modelName} ${variant.format}`)).toEqual([])
})

test('vLLM 0.14 is too old for the models that it cannot load or parse, and only for these', () => {
  const rules = makeRules('vllm/vllm-openai:v0.14.0')
  const outdated = variants.filter(({ variant }) => {
    const { considered } = selectInstance(variant, offers, rules, [])
    return considered.every(({ reason }) => reason.includes('vLLM 0.14.0 is too old'))
  })
  const names = [...new Set(outdated.map(({ variant }) => variant.modelName))]
  expect(names).toEqual(
    `qwen3.8 qwen3.6 qwen3.5 qwen3-coder-next mistral-medium-3.5 mistral-small-4 gemma-4 deepseek-v4-flash deepseek-v4-pro deepseek-v3.2
     glm-5.3 glm-5 glm-4.7 glm-4.7-flash kimi-k2.7-code kimi-k2.6 minimax-m3 minimax-m2.7 nemotron-3.5-lightning nemotron-3-super
     granite-4.1 granite-4.0-micro`.split(/\s+/),
  )
  for (const { variant } of outdated) expect(findEngine(variant, rules.engines)?.name).toBe('vllm')
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
    if (spec === null || variant.modelType === 'embedding') continue
    const engine = variant.format === 'ggufv2' ? 'llama.cpp' : 'vLLM'
    const body = toLaunchBody(spec, engine, { workerIp: null, gpuMemoryShare: 0.9 })
    expect(body['reasoning_content'], variant.modelName).toBe(known.has(variant.modelName) ? true : undefined)
    expect(engine === 'vLLM' ? body['max_num_seqs'] : body['n_parallel']).toBe(spec.parallelSequences)
  }
})
