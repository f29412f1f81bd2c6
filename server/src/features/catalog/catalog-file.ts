/** Reads the catalog file: the deployable models, their variants, and the location of their weights. */

import { dirname, resolve } from 'node:path'
import type { ModelType, ModelVariant, WeightSource } from '../../ports/model-runtime.ts'
import { readYamlFile } from '../../yaml-file.ts'
import { validateModels } from './catalog-file-schema.ts'
import type { ModelEntry, VariantEntry } from './catalog-file-schema.ts'
import { toEngineProfiles } from './engine-profiles.ts'

/** A variant in the file. `gated` means that the hub requires an accepted license and a token. */
export interface CatalogVariant extends ModelVariant {
  gated: boolean
}

/** A model in the file with all its variants, in file order. `default` is one of `variants`. */
export interface CatalogModel {
  id: string
  modelName: string
  displayName: string
  provider: string
  family: string
  modelType: ModelType
  description: string
  license: string
  tags: string[]
  /** Absent in stored models that left the file before the field existed */
  suggestedPrompts?: string[]
  enabled: boolean
  sortOrder: number
  variants: CatalogVariant[]
  default: CatalogVariant
}

export interface CatalogFile {
  models: CatalogModel[]
}

/** The quantizations of one format and size, in the API's shape. `default` is true if they include the default variant. */
export interface VariantListing {
  model_format: string
  model_size_in_billions: number
  quantizations: string[]
  default: boolean
}

/** The variant fields of a request. `findVariant` fills in omitted ones. */
export interface VariantChoice {
  format?: string | undefined
  sizeInBillions?: number | undefined
  quantization?: string | undefined
}

/**
 * Reads and validates a catalog file, and resolves relative weight files against its folder. Throws one Error that lists every
 * mistake with its line and its path in the document.
 */
export function readCatalogFile(path: string): CatalogFile {
  const models = readYamlFile(path, 'catalog', (content) => {
    const { models: value, mistakes } = validateModels(content)
    return { value, mistakes }
  })
  const folder = dirname(resolve(path))
  return { models: models.map((model, index) => toCatalogModel(model, index, folder)) }
}

/** Groups the variants of a model by format and size, in file order. */
export function listVariants(model: CatalogModel): VariantListing[] {
  const rows = new Map<string, VariantListing>()
  for (const variant of model.variants) {
    const key = `${variant.format} ${variant.sizeInBillions}`
    const row = rows.get(key) ?? {
      model_format: variant.format,
      model_size_in_billions: variant.sizeInBillions,
      quantizations: [],
      default: false,
    }
    row.quantizations.push(variant.quantization)
    row.default ||= isSameVariant(variant, model.default)
    rows.set(key, row)
  }
  return [...rows.values()]
}

/**
 * Finds the variant that matches all given fields, or null. Among several matches, prefers the default's size, then its format,
 * then its quantization, then the first in the file.
 */
export function findVariant(model: CatalogModel, choice: VariantChoice = {}): CatalogVariant | null {
  const { format, sizeInBillions, quantization } = choice
  let candidates = model.variants.filter(
    (variant) =>
      (format === undefined || isSameName(variant.format, format)) &&
      (sizeInBillions === undefined || variant.sizeInBillions === sizeInBillions) &&
      (quantization === undefined || isSameName(variant.quantization, quantization)),
  )
  for (const key of ['sizeInBillions', 'format', 'quantization'] as const) {
    const preferred = candidates.filter((variant) => variant[key] === model.default[key])
    if (preferred.length > 0) candidates = preferred
  }
  return candidates[0] ?? null
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function isSameVariant(one: ModelVariant, other: ModelVariant): boolean {
  return (
    isSameName(one.format, other.format) &&
    one.sizeInBillions === other.sizeInBillions &&
    isSameName(one.quantization, other.quantization)
  )
}

function toCatalogModel(entry: ModelEntry, index: number, folder: string): CatalogModel {
  const variants = entry.sizes.flatMap((size) =>
    size.variants.flatMap((variant) =>
      variant.quantizations.map((quantization): CatalogVariant => ({
        modelName: entry.model_name,
        modelType: entry.model_type,
        format: variant.format,
        sizeInBillions: size.billions,
        quantization,
        contextLength: size.context_length ?? entry.context_length,
        architecture: size.architecture && {
          parameters: size.architecture.parameters,
          layers: size.architecture.layers,
          attentionHeads: size.architecture.attention_heads,
          kvHeads: size.architecture.kv_heads,
          headDimension: size.architecture.head_dim,
          hiddenSize: size.architecture.hidden_size,
          vocabularySize: size.architecture.vocabulary_size,
          slidingLayers: size.architecture.sliding_layers,
          slidingWindow: size.architecture.sliding_window,
          stateBytes: size.architecture.state_bytes,
        },
        weightBytes: variant.weight_bytes[quantization] ?? null,
        weights: toWeightSource(variant, quantization, folder),
        engines: toEngineProfiles(entry.engines, size.engines),
        gated: 'huggingface' in variant.weights && variant.weights.gated,
      })),
    ),
  )
  const chosen = variants.find(
    (variant) =>
      variant.sizeInBillions === entry.default.billions &&
      variant.format === entry.default.format &&
      isSameName(variant.quantization, entry.default.quantization),
  )
  if (!chosen) throw new Error(`the default variant of ${entry.id} was not validated`)
  return {
    id: entry.id,
    modelName: entry.model_name,
    displayName: entry.display_name,
    provider: entry.provider,
    family: entry.family,
    modelType: entry.model_type,
    description: entry.description,
    license: entry.license,
    tags: entry.tags,
    suggestedPrompts: entry.suggested_prompts,
    enabled: entry.enabled,
    sortOrder: entry.sort_order ?? index + 1,
    variants,
    default: chosen,
  }
}

/** A hub source without `file` gets an empty `files`, which means the whole repository. */
function toWeightSource(variant: VariantEntry, quantization: string, folder: string): WeightSource {
  const { weights } = variant
  if ('url' in weights) return { kind: 'url', url: fillIn(weights.url, quantization), sha256: weights.sha256 }
  if (!('huggingface' in weights)) {
    return { kind: 'file', path: resolve(folder, fillIn(weights.file, quantization)) }
  }
  const file = weights.file === undefined ? null : fillIn(weights.file, quantization)
  return {
    kind: 'huggingface',
    repo: fillIn(weights.huggingface, quantization),
    revision:
      typeof weights.revision === 'string' ? weights.revision : (weights.revision[quantization] ?? 'main'),
    files: file === null ? [] : splitIntoParts(file, weights.parts[quantization] ?? 1),
  }
}

function fillIn(pattern: string, quantization: string): string {
  return pattern
    .replaceAll('{quantization}', quantization)
    .replaceAll('{quantization_lower}', quantization.toLowerCase())
}

/** The part names of llama.cpp's gguf-split: `name-00001-of-00003.gguf`. An engine needs all parts. */
function splitIntoParts(file: string, parts: number): string[] {
  if (parts === 1) return [file]
  const stem = file.replace(/\.gguf$/, '')
  const number = (value: number) => String(value).padStart(5, '0')
  return Array.from({ length: parts }, (_, index) => `${stem}-${number(index + 1)}-of-${number(parts)}.gguf`)
}
