/** A model of the catalog, wherever it comes from. */

import type { TokenPrices } from '../../base/price.ts'
import type { ModelType, ModelVariant } from '../../ports/model-variant.ts'

/**
 * The catalog file, a repository on the Hub at one commit, an uploaded file, or an endpoint's id with the
 * model's name there. `bytes`: of all variants.
 */
export type ModelSource =
  | { kind: 'catalog' }
  | { kind: 'huggingface'; repository: string; commit: string; bytes: number }
  | { kind: 'upload'; fileName: string; bytes: number }
  | { kind: 'endpoint'; endpoint: string; model: string; prices: TokenPrices | null }

/** What stands for the license of a model whose owner names none. */
export const unknownLicense = 'unknown'

/** A variant in the catalog. `gated` means that the hub requires an accepted license and a token. */
export interface CatalogVariant extends ModelVariant {
  gated: boolean
}

/** A LoRA changes the responses of its base model, and a deployment of the base serves it. */
export interface LoraFacts {
  /** Name of the base model in the catalog */
  baseModelName: string
  /** The sizes of the base model that the LoRA fits, in billions of parameters */
  baseSizes: number[]
  rank: number
  /** The matrices that it changes, as its files name them */
  targetModules: string[]
}

/** A deployable model with all its variants, in the order of their source. `default` is one of `variants`. */
export interface CatalogModel {
  id: string
  source: ModelSource
  modelName: string
  displayName: string
  provider: string
  family: string
  modelType: ModelType
  /** Absent for a model that is deployed itself */
  lora?: LoraFacts | undefined
  description: string
  license: string
  tags: string[]
  suggestedPrompts: string[]
  enabled: boolean
  sortOrder: number
  variants: CatalogVariant[]
  default: CatalogVariant
}

/** The quantizations of one format and size. `default` is true if they include the default variant. */
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

type VariantKey = Pick<ModelVariant, 'format' | 'sizeInBillions' | 'quantization'>

/** Groups variants by format and size, in the model's order. `usual` is the default variant. */
export function listVariants(model: CatalogModel, usual: VariantKey = model.default): VariantListing[] {
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
    row.default ||= isSameVariant(variant, usual)
    rows.set(key, row)
  }
  return [...rows.values()]
}

/** The variants of a model that match all given fields, in the model's order. */
export function listMatchingVariants(model: CatalogModel, choice: VariantChoice): CatalogVariant[] {
  const { format, sizeInBillions, quantization } = choice
  return model.variants.filter(
    (variant) =>
      (format === undefined || isSameName(variant.format, format)) &&
      (sizeInBillions === undefined || variant.sizeInBillions === sizeInBillions) &&
      (quantization === undefined || isSameName(variant.quantization, quantization)),
  )
}

/** Finds a matching variant, preferring the default's size, format, quantization, then the model's order. */
export function findVariant(model: CatalogModel, choice: VariantChoice = {}): CatalogVariant | null {
  let candidates = listMatchingVariants(model, choice)
  for (const key of ['sizeInBillions', 'format', 'quantization'] as const) {
    const preferred = candidates.filter((variant) => variant[key] === model.default[key])
    if (preferred.length > 0) candidates = preferred
  }
  return candidates[0] ?? null
}

/** True for the same format, size and quantization. */
export function isSameVariant(one: VariantKey, other: VariantKey): boolean {
  return (
    isSameName(one.format, other.format) &&
    one.sizeInBillions === other.sizeInBillions &&
    isSameName(one.quantization, other.quantization)
  )
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
