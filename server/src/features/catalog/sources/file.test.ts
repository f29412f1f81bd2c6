import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { findVariant } from '../model.ts'
import type { CatalogModel, CatalogVariant } from '../model.ts'
import { readCatalogFile } from './file.ts'

const folder = mkdtempSync(join(tmpdir(), 'catalog-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the shipped catalog', () => {
  const { models } = readCatalogFile(
    fileURLToPath(new URL('../../../../../catalog/models.yaml', import.meta.url)),
  )
  const variants = models.flatMap((model) => model.variants)
  const name = (variant: CatalogVariant) =>
    `${variant.modelName} ${variant.format} ${variant.sizeInBillions} ${variant.quantization}`

  it('offers many models of all types, the bundled ones first', () => {
    expect(models.length).toBeGreaterThanOrEqual(40)
    expect(models.slice(0, 2).map((model) => model.modelName)).toEqual(['berth-tiny', 'berth-tiny-embedding'])
    expect(models.filter((model) => model.modelType === 'embedding').length).toBeGreaterThanOrEqual(10)
    expect(models.filter((model) => model.modelType === 'rerank').length).toBeGreaterThanOrEqual(5)
    expect(models.map((model) => model.sortOrder)).toEqual(models.map((_, index) => index + 1))
  })

  it('includes the weight files of the bundled models', () => {
    const local = variants.filter((variant) => variant.weights.kind === 'file')
    expect(local.length).toBeGreaterThanOrEqual(2)
    for (const { weights } of local)
      expect(weights.kind === 'file' && existsSync(weights.path), name(local[0]!)).toBe(true)
  })

  it.each(models.map((model) => [model.id, model] as const))('describes %s', (_id, model) => {
    expect(Array.from(model.description).length).toBeLessThan(300)
    expect(model.tags.length).toBeGreaterThan(0)
    for (const tag of model.tags) expect(tag).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    expect(new Set(model.tags).size).toBe(model.tags.length)
    for (const type of ['embedding', 'rerank'])
      expect(model.tags.includes(type)).toBe(model.modelType === type)
  })

  it('defaults to GGUF for every model that has a GGUF variant', () => {
    for (const model of models) {
      const hasGguf = model.variants.some((variant) => variant.format === 'ggufv2')
      expect(model.default.format === 'ggufv2', model.id).toBe(hasGguf)
    }
  })

  it('uses Xinference’s names for quantizations', () => {
    const known: Record<string, RegExp> = {
      pytorch: /^none$/,
      ggufv2: /^((UD-)?I?Q[1-8]_(0|1|K|K_[SMLX]|K_XL|XXS|XS|S|M|NL)|BF16|F16|MXFP4)$/,
      awq: /^(Int4|4bit|8bit)$/,
      gptq: /^(Int4|Int8|Int4-Int8Mix)$/,
      fp8: /^fp8$/,
    }
    for (const variant of variants)
      expect(variant.quantization, name(variant)).toMatch(known[variant.format] ?? /^$/)
  })

  it('names GGUF files after their quantization', () => {
    for (const { weights, ...variant } of variants) {
      if (variant.format !== 'ggufv2' || weights.kind !== 'huggingface') continue
      expect(weights.files.length).toBeGreaterThan(0)
      for (const file of weights.files) {
        expect(file).toMatch(/\.gguf$/)
        expect(file.toLowerCase()).toContain(variant.quantization.toLowerCase())
      }
    }
  })

  // Model names don't count embeddings and vision: Ministral 3 3B has 3.85.
  it('has plausible architectures', () => {
    for (const variant of variants) {
      const { architecture, sizeInBillions } = variant
      expect(architecture, name(variant)).not.toBeNull()
      if (!architecture) continue
      const nominal = sizeInBillions * 1e9
      const surplus = sizeInBillions < 1 ? nominal * 0.15 : Math.max(nominal * 0.15, 0.9e9)
      expect(architecture.parameters, name(variant)).toBeGreaterThan(nominal * 0.85)
      expect(architecture.parameters, name(variant)).toBeLessThan(nominal + surplus)
      expect(architecture.attentionHeads % architecture.kvHeads, name(variant)).toBe(0)
      expect(architecture.layers, name(variant)).toBeLessThanOrEqual(130)
      expect(architecture.hiddenSize, name(variant)).toBeLessThanOrEqual(20_000)
      expect(architecture.parameters, name(variant)).toBeGreaterThan(
        architecture.vocabularySize * architecture.hiddenSize,
      )
      expect(variant.contextLength, name(variant)).toBeGreaterThanOrEqual(512)
      expect(variant.contextLength, name(variant)).toBeLessThanOrEqual(1_048_576)
    }
  })

  it('has file sizes that are plausible for their quantization', () => {
    for (const { weightBytes, architecture, ...variant } of variants) {
      if (weightBytes === null || !architecture) continue
      const bitsPerWeight = (weightBytes * 8) / architecture.parameters
      expect(bitsPerWeight, variant.modelName).toBeGreaterThan(1.5)
      expect(bitsPerWeight, variant.modelName).toBeLessThan(17)
    }
  })

  it.each([
    ['qwen2.5-instruct', 0.5, 24, 2, 64, 494_032_768],
    ['qwen2.5-instruct', 7, 28, 4, 128, 7_615_616_512],
    ['qwen2.5-instruct', 14, 48, 8, 128, 14_770_033_664],
    ['qwen2.5-instruct', 32, 64, 8, 128, 32_763_876_352],
    ['llama-3.1-instruct', 70, 80, 8, 128, 70_553_706_496],
    ['qwen3', 235, 94, 4, 128, 235_093_634_560],
    ['bge-reranker-v2-m3', 0.568, 24, 16, 64, 567_755_777],
    ['qwen3-reranker-0.6b', 0.6, 28, 8, 128, 595_776_512],
  ])(
    'has the published facts of %s %d',
    (modelName, sizeInBillions, layers, kvHeads, headDimension, parameters) => {
      const model = models.find((candidate) => candidate.modelName === modelName)!
      expect(findVariant(model, { sizeInBillions })?.architecture).toMatchObject({
        layers,
        kvHeads,
        headDimension,
        parameters,
      })
    },
  )
})

describe('reading a file', () => {
  it('expands the location of the weights', () => {
    const model = readOne({
      sizes: `
      - billions: 1.5
        variants:
          - { format: gptq, quantizations: [Int4, Int8], weights: { huggingface: "a/one-{quantization}", revision: { Int8: "8" } } }
          - { format: ggufv2, quantizations: [Q8_0], weights: { huggingface: a/one-GGUF, file: "o-{quantization_lower}.gguf" } }
      - billions: 7
        context_length: 8192
        variants:
          - { format: awq, quantizations: [Int4], weights: { huggingface: a/seven-AWQ, revision: v2, gated: true } }`,
      chosen: '{ format: ggufv2, billions: 1.5, quantization: q8_0 }',
    })
    const [int4, int8, gguf, awq] = model.variants
    expect(gguf?.weights).toEqual({
      kind: 'huggingface',
      repo: 'a/one-GGUF',
      revision: 'main',
      files: ['o-q8_0.gguf'],
    })
    expect(int4?.weights).toMatchObject({ revision: 'main' })
    expect(int8?.weights).toMatchObject({ repo: 'a/one-Int8', revision: '8', files: [] })
    expect(awq).toMatchObject({ contextLength: 8192, gated: true, weights: { revision: 'v2' } })
    expect(model.default).toBe(gguf)
  })

  it('resolves local files against its folder and supports URLs and split files', () => {
    const model = readOne({
      sizes: `
      - billions: 1
        variants:
          - { format: ggufv2, quantizations: [F16], weight_bytes: { F16: 10 }, weights: { file: ../tiny.gguf } }
          - format: ggufv2
            quantizations: [Q4_0]
            weights: { url: "https://example.com/a.gguf", sha256: ${'aB'.repeat(32)} }
          - format: ggufv2
            quantizations: [Q6_K, Q8_0]
            weights: { huggingface: a/b, file: "x/{quantization}/m-{quantization}.gguf", parts: { Q8_0: 2 } }`,
      chosen: '{ format: ggufv2, billions: 1, quantization: F16 }',
    })
    const [local, url, whole, split] = model.variants
    expect(local).toMatchObject({
      weightBytes: 10,
      weights: { kind: 'file', path: join(folder, '../tiny.gguf') },
    })
    expect(url).toMatchObject({ weightBytes: null, weights: { kind: 'url', sha256: 'aB'.repeat(32) } })
    expect(whole?.weights).toMatchObject({ files: ['x/Q6_K/m-Q6_K.gguf'] })
    expect(split?.weights).toMatchObject({
      files: ['x/Q8_0/m-Q8_0-00001-of-00002.gguf', 'x/Q8_0/m-Q8_0-00002-of-00002.gguf'],
    })
  })

  it('reports every mistake at once, with its line and path', () => {
    const message = failureOf(`models:
  - id: Bad Id
    model_name: one
    display_name: One
    provider: P
    family: "a\\0b"
    model_type: image
    description: ""
    license: mit
    colour: blue
    context_length: -1
    sizes:
      - billions: "7"
        architecture: { parameters: 7, layers: 1, hidden_size: 1, attention_heads: 3, kv_heads: 2, head_dim: 1, vocabulary_size: 1 }
        variants:
          - format: ggufv2
            quantizations: []
            weights: { huggingface: no-owner, file: ../../etc/passwd }
          - format: GGUF
            quantizations: [Q4_0]
            weights: { url: "ftp://x", sha256: 12 }
    default: { format: ggufv2, billions: 7 }
  - { id: two, model_name: ONE }
  - nothing
`)
    expect(message).toContain(`The catalog file ${join(folder, 'models.yaml')} has `)
    for (const expected of [
      'line 2, models[0].id: must be a lowercase slug',
      'line 6, models[0].family: must not contain NUL',
      'line 7, models[0].model_type: ',
      'line 8, models[0].description: must not be empty',
      'line 10, models[0].colour: is not a known field',
      'line 11, models[0].context_length: ',
      'line 13, models[0].sizes[0].billions: ',
      'line 14, models[0].sizes[0].architecture.kv_heads: must divide attention_heads',
      'line 17, models[0].sizes[0].variants[0].quantizations: must name at least one',
      'line 18, models[0].sizes[0].variants[0].weights.huggingface: must be owner/repository',
      'line 18, models[0].sizes[0].variants[0].weights.file: must be a path inside the repository',
      'line 19, models[0].sizes[0].variants[1].format: must be one lowercase word',
      'line 21, models[0].sizes[0].variants[1].weights.url: must be an http or https URL',
      'line 21, models[0].sizes[0].variants[1].weights.sha256: must be in quotes',
      'line 22, models[0].default.quantization: ',
      'line 23, models[1].sizes: ',
      'line 23, models[1].model_name: duplicates the model_name of models[0]: ONE',
      'line 24, models[2]: ',
    ]) {
      expect(message).toContain(expected)
    }
  })

  it('reports contradictions', () => {
    const message = failureOf(
      entry({
        sizes: `
      - billions: 1
        variants:
          - { format: ggufv2, quantizations: [Q4_0, q4_0], weights: { huggingface: a/b, parts: { Q4_0: 2 } } }
          - format: ggufv2
            quantizations: [Q8_0]
            weight_bytes: { Q5_0: 5 }
            weights: { huggingface: a/b, file: "{quantisation}.gguf", parts: { Q2_K: 2 }, revision: { Q3_K: abc } }
          - { format: ggufv2, quantizations: [Q6_K, Q5_K_M], weights: { url: "https://x.org/{quantization}", sha256: "${'0'.repeat(64)}" } }
      - billions: 1
        variants: [{ format: ggufv2, quantizations: [Q8_0], weights: { file: a.gguf } }]`,
        chosen: '{ format: ggufv2, billions: 2, quantization: Q4_0 }',
      }),
    )
    for (const expected of [
      'models[0].sizes[0].variants[0].quantizations[1]: q4_0 is offered twice',
      'models[0].sizes[0].variants[0].weights: must contain {quantization} in the source when there are several quantizations',
      'models[0].sizes[0].variants[0].weights: must name a file for a ggufv2 variant',
      'models[0].sizes[0].variants[0].weights.parts: requires a file name that ends in .gguf',
      'models[0].sizes[0].variants[1].weights: {quantisation} is not a placeholder',
      'models[0].sizes[0].variants[1].weight_bytes.Q5_0: must be one of the quantizations',
      'models[0].sizes[0].variants[1].weights.parts.Q2_K: must be one of the quantizations',
      'models[0].sizes[0].variants[1].weights.revision.Q3_K: must be one of the quantizations',
      'models[0].sizes[0].variants[2].weights.sha256: is only allowed with a single quantization',
      'models[0].sizes[1].billions: duplicates another size of this model',
      'models[0].sizes[1].variants[0].quantizations[0]: Q8_0 is offered twice',
      'models[0].default: must be one of the variants',
    ]) {
      expect(message).toContain(expected)
    }
  })

  it.each([
    ['not YAML', 'models: [\n  - {', /line \d+: /],
    ['a duplicate key', 'models: []\nmodels: []', /line 2: .*unique/],
    ['an empty file', '', /line 1: /],
    ['a list', '- a', /line 1: /],
    ['no models', 'models: []', /line 1, models: must contain at least one model/],
    ['an unknown alias', 'models: *gone', /gone/],
    ['exponentially nested aliases', aliasBomb(), /alias/i],
  ])('rejects %s', (_name, source, expected) => {
    expect(failureOf(source)).toMatch(expected)
  })

  it('reports a missing file by its path', () => {
    const path = join(folder, 'absent.yaml')
    expect(() => readCatalogFile(path)).toThrow(`The catalog file ${path} could not be read: `)
  })
})

function entry({ sizes, chosen }: { sizes: string; chosen: string }): string {
  return `models:
  - id: some-model
    model_name: some-model
    display_name: Some Model
    provider: Somebody
    family: some
    model_type: LLM
    description: Does something.
    license: mit
    context_length: 4096
    sizes:${sizes}
    default: ${chosen}
`
}

function write(source: string): string {
  const path = join(folder, 'models.yaml')
  writeFileSync(path, source)
  return path
}

function readOne(parts: { sizes: string; chosen: string }): CatalogModel {
  const [model] = readCatalogFile(write(entry(parts))).models
  return model!
}

function failureOf(source: string): string {
  try {
    readCatalogFile(write(source))
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
  return ''
}

function aliasBomb(): string {
  const rows = Array.from({ length: 9 }, (_, index) => {
    const former = index === 0 ? 'x' : `*a${index - 1}`
    return `a${index}: &a${index} [${Array.from({ length: 9 }, () => former).join(', ')}]`
  })
  return `${rows.join('\n')}\nmodels: *a8\n`
}
