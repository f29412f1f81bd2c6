/** The schema of the catalog file, and its consistency rules. Keys are snake_case, as in the file. */

import { z } from 'zod'
import { toMistakes, yamlText as text } from '../../../base/yaml-file.ts'
import type { DocumentPath, Mistake } from '../../../base/yaml-file.ts'
import { modelTypes } from '../../../ports/model-variant.ts'
import { enginesSchema, findProfileMistakes } from '../engine-profiles.ts'

const positiveInteger = z.int().positive()
const slug = z
  .string()
  .regex(/^[a-z0-9]+([._-][a-z0-9]+)*$/, 'must be a lowercase slug such as qwen2.5-instruct')
const formatName = z.string().regex(/^[a-z0-9]+$/, 'must be one lowercase word such as ggufv2')
const quantizationName = z.string().regex(/^[A-Za-z0-9._-]+$/, 'must be one word such as Q4_K_M')
const repositoryFile = text.refine((path) => !path.startsWith('/') && !path.split('/').includes('..'), {
  message: 'must be a path inside the repository',
})

/** Formats of repositories with several variants, each in separate files. */
const fileFormats = ['ggufv2']
const placeholder = /\{quantization(?:_lower)?\}/

const architectureSchema = z
  .strictObject({
    parameters: positiveInteger,
    layers: positiveInteger,
    hidden_size: positiveInteger,
    attention_heads: positiveInteger,
    kv_heads: positiveInteger,
    head_dim: positiveInteger,
    vocabulary_size: positiveInteger,
    sliding_layers: positiveInteger.optional(),
    sliding_window: positiveInteger.optional(),
    sliding_kv_heads: positiveInteger.optional(),
    sliding_head_dim: positiveInteger.optional(),
    state_bytes: positiveInteger.optional(),
  })
  .refine((architecture) => architecture.attention_heads % architecture.kv_heads === 0, {
    path: ['kv_heads'],
    message: 'must divide attention_heads',
  })
  .refine(({ layers, sliding_layers = 0 }) => sliding_layers <= layers, {
    path: ['sliding_layers'],
    message: 'must not exceed layers',
  })
  .refine(
    (architecture) =>
      (architecture.sliding_layers === undefined) === (architecture.sliding_window === undefined),
    {
      path: ['sliding_layers'],
      message: 'and sliding_window must be set together',
    },
  )
  .refine(
    ({ sliding_layers, sliding_kv_heads, sliding_head_dim }) =>
      sliding_layers !== undefined || (sliding_kv_heads ?? sliding_head_dim) === undefined,
    { path: ['sliding_layers'], message: 'must be set with sliding_kv_heads and sliding_head_dim' },
  )

const localWeightsSchema = z.strictObject({ file: text })
const urlWeightsSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
  sha256: z
    .string({ error: 'must be in quotes' })
    .regex(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits')
    .optional(),
})
const hubWeightsSchema = z.strictObject({
  huggingface: z.string().regex(/^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.{}-]*$/, 'must be owner/repository'),
  // A number is a commit of digits alone without its quotes.
  revision: z
    .union([text, z.record(quantizationName, text)], 'must be text in quotes, or one text per quantization')
    .default('main'),
  file: repositoryFile.optional(),
  parts: z.record(quantizationName, z.int().min(2).max(99_999)).default({}),
  gated: z.boolean().default(false),
})

/** Picks the schema by the key that names the source, so that errors refer to the intended kind of source. */
const weightsSchema = z.record(z.string(), z.unknown()).transform((weights, context) => {
  const schema =
    'huggingface' in weights ? hubWeightsSchema : 'url' in weights ? urlWeightsSchema : localWeightsSchema
  const parsed = schema.safeParse(weights)
  if (parsed.success) return parsed.data
  for (const issue of parsed.error.issues) {
    context.addIssue({ code: 'custom', path: issue.path, message: issue.message })
  }
  return z.NEVER
})

const variantSchema = z.strictObject({
  format: formatName,
  quantizations: z.array(quantizationName).min(1, 'must name at least one'),
  weight_bytes: z.record(quantizationName, positiveInteger).default({}),
  weights: weightsSchema,
})

const sizeSchema = z.strictObject({
  billions: z.number().positive(),
  context_length: positiveInteger.optional(),
  architecture: architectureSchema.nullish().transform((architecture) => architecture ?? null),
  engines: enginesSchema.optional(),
  variants: z.array(variantSchema).min(1, 'must contain at least one variant'),
})

const defaultSchema = z.strictObject({
  format: formatName,
  billions: z.number().positive(),
  quantization: quantizationName,
})

const entrySchema = z.strictObject({
  id: slug,
  model_name: z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]*$/, 'must be one word of letters, digits, dots, dashes and underscores'),
  display_name: text,
  provider: text,
  family: text,
  model_type: z.enum(modelTypes),
  description: text,
  license: text,
  tags: z.array(text).default([]),
  suggested_prompts: z.array(text).max(6, 'must contain at most 6 prompts').default([]),
  enabled: z.boolean().default(true),
  sort_order: z.int32().optional(),
  context_length: positiveInteger,
  engines: enginesSchema.optional(),
  sizes: z.array(sizeSchema).min(1, 'must contain at least one size'),
  default: defaultSchema,
})

const modelSchema = entrySchema.superRefine((model, context) => {
  for (const mistake of findContradictions(model)) context.addIssue({ code: 'custom', ...mistake })
})

const documentSchema = z.strictObject({
  models: z.array(z.unknown()).min(1, 'must contain at least one model'),
})

export type ModelEntry = z.output<typeof modelSchema>
export type SizeEntry = ModelEntry['sizes'][number]
export type VariantEntry = z.output<typeof variantSchema>

/** Validates the document. Returns the valid models and all mistakes in the others. */
export function validateModels(document: unknown): { models: ModelEntry[]; mistakes: Mistake[] } {
  const models: ModelEntry[] = []
  const mistakes: Mistake[] = []
  const parsed = documentSchema.safeParse(document)
  if (!parsed.success) return { models, mistakes: toMistakes(parsed.error, []) }
  for (const [index, entry] of parsed.data.models.entries()) {
    const model = modelSchema.safeParse(entry)
    if (model.success) models.push(model.data)
    else mistakes.push(...toMistakes(model.error, ['models', index]))
  }
  for (const key of ['id', 'model_name']) mistakes.push(...findDuplicates(parsed.data.models, key))
  return { models, mistakes }
}

/** Compares names case-insensitively, as the API does. */
function findDuplicates(entries: unknown[], key: string): Mistake[] {
  const mistakes: Mistake[] = []
  const seen = new Map<string, number>()
  for (const [index, entry] of entries.entries()) {
    const value: unknown = typeof entry === 'object' && entry !== null ? Reflect.get(entry, key) : undefined
    if (typeof value !== 'string') continue
    const first = seen.get(value.toLowerCase())
    if (first === undefined) {
      seen.set(value.toLowerCase(), index)
    } else {
      const message = `duplicates the ${key} of models[${first}]: ${value}`
      mistakes.push({ path: ['models', index, key], message })
    }
  }
  return mistakes
}

function findContradictions(model: z.output<typeof entrySchema>): Mistake[] {
  const mistakes: Mistake[] = findProfileMistakes(model)
  const sizes = new Set<number>()
  const offered = new Set<string>()
  for (const [sizeIndex, size] of model.sizes.entries()) {
    const report = (path: DocumentPath, message: string) =>
      mistakes.push({ path: ['sizes', sizeIndex, ...path], message })
    if (sizes.has(size.billions)) report(['billions'], 'duplicates another size of this model')
    sizes.add(size.billions)
    for (const [variantIndex, variant] of size.variants.entries()) {
      for (const [index, quantization] of variant.quantizations.entries()) {
        const key = variantKey(variant.format, size.billions, quantization)
        if (offered.has(key)) {
          report(['variants', variantIndex, 'quantizations', index], `${quantization} is offered twice`)
        }
        offered.add(key)
      }
      for (const { path, message } of findVariantContradictions(variant)) {
        report(['variants', variantIndex, ...path], message)
      }
    }
  }
  const { format, billions, quantization } = model.default
  if (!offered.has(variantKey(format, billions, quantization))) {
    mistakes.push({ path: ['default'], message: 'must be one of the variants' })
  }
  return mistakes
}

function findVariantContradictions(variant: VariantEntry): Mistake[] {
  const { format, quantizations, weight_bytes, weights } = variant
  const mistakes: Mistake[] = []
  const report = (path: DocumentPath, message: string) => mistakes.push({ path, message })
  const hub = 'huggingface' in weights ? weights : null
  const source = 'url' in weights ? weights.url : `${hub?.huggingface ?? ''}/${weights.file ?? ''}`
  if (quantizations.length > 1 && !placeholder.test(source)) {
    report(['weights'], 'must contain {quantization} in the source when there are several quantizations')
  }
  const stray = source
    .split(placeholder)
    .join('')
    .match(/[{}][^{}]*\}?/)
  if (stray) report(['weights'], `${stray[0]} is not a placeholder`)
  if (fileFormats.includes(format) && hub && hub.file === undefined) {
    report(['weights'], `must name a file for a ${format} variant`)
  }
  if ('sha256' in weights && weights.sha256 !== undefined && quantizations.length > 1) {
    report(['weights', 'sha256'], 'is only allowed with a single quantization')
  }
  if (hub && Object.keys(hub.parts).length > 0 && !hub.file?.endsWith('.gguf')) {
    report(['weights', 'parts'], 'requires a file name that ends in .gguf')
  }
  const absent = (quantization: string) => !quantizations.includes(quantization)
  for (const quantization of Object.keys(weight_bytes).filter(absent)) {
    report(['weight_bytes', quantization], 'must be one of the quantizations')
  }
  for (const key of ['parts', 'revision'] as const) {
    const value = hub?.[key] ?? {}
    for (const quantization of typeof value === 'string' ? [] : Object.keys(value).filter(absent)) {
      report(['weights', key, quantization], 'must be one of the quantizations')
    }
  }
  return mistakes
}

function variantKey(format: string, billions: number, quantization: string): string {
  return `${format} ${billions} ${quantization.toLowerCase()}`
}
