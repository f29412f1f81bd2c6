/** Reads the catalog file: the deployable models, their variants, and the location of their weights. */

import { dirname, resolve } from 'node:path'
import { readYamlFile } from '../../../base/yaml-file.ts'
import type { WeightSource } from '../../../ports/model-variant.ts'
import { toEngineProfiles } from '../engine-profiles.ts'
import { isSameVariant } from '../model.ts'
import type { CatalogModel, CatalogVariant } from '../model.ts'
import { validateModels } from './file-schema.ts'
import type { ModelEntry, SizeEntry, VariantEntry } from './file-schema.ts'

export interface CatalogFile {
  models: CatalogModel[]
}

/** Reads a catalog file; weight files are relative to it. Throws an Error with the line of each mistake. */
export function readCatalogFile(path: string): CatalogFile {
  const models = readYamlFile(path, 'catalog', (content) => {
    const { models: value, mistakes } = validateModels(content)
    return { value, mistakes }
  })
  const folder = dirname(resolve(path))
  return { models: models.map((model, index) => toCatalogModel(model, index, folder)) }
}

function toCatalogModel(entry: ModelEntry, index: number, folder: string): CatalogModel {
  const variants = entry.sizes.flatMap((size) =>
    size.variants.flatMap((variant) =>
      variant.quantizations.map((quantization) => toVariant(entry, size, variant, quantization, folder)),
    ),
  )
  const { format, billions, quantization } = entry.default
  const chosen = variants.find((variant) =>
    isSameVariant(variant, { format, sizeInBillions: billions, quantization }),
  )
  if (!chosen) throw new Error(`the default variant of ${entry.id} was not validated`)
  return {
    id: entry.id,
    source: { kind: 'catalog' },
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

function toVariant(
  entry: ModelEntry,
  size: SizeEntry,
  variant: VariantEntry,
  quantization: string,
  folder: string,
): CatalogVariant {
  return {
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
      slidingKvHeads: size.architecture.sliding_kv_heads,
      slidingHeadDimension: size.architecture.sliding_head_dim,
      stateBytes: size.architecture.state_bytes,
    },
    weightBytes: variant.weight_bytes[quantization] ?? null,
    weights: toWeightSource(variant, quantization, folder),
    engines: toEngineProfiles(entry.engines, size.engines),
    gated: 'huggingface' in variant.weights && variant.weights.gated,
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
