import { v7 as uuidv7 } from 'uuid'
import type { HubRepository } from '../../ports/model-hub.ts'
import type { EngineProfiles } from '../../ports/model-variant.ts'
import type { RuntimeEngine } from '../../ports/runtime-engine.ts'
import { listEnginesFor } from '../catalog/engine-choice.ts'
import { unknownLicense } from '../catalog/model.ts'
import type { CatalogModel, CatalogVariant } from '../catalog/model.ts'
import { ggufFormat } from './facts/formats.ts'
import type { LoraBase } from './find-base.ts'
import type { RepositoryVariant } from './repository-reader.ts'

/** What most models without a stated context were trained with */
const usualContextTokens = 2048
/** The variant that people want unless they say otherwise, if the repository has it */
const usualQuantizations = ['Q4_K_M', 'UD-Q4_K_XL', 'Q4_K_S', 'Q4_0', 'Q5_K_M', 'Q6_K', 'Q8_0']

/** Whose token reads the repository */
export type HubAccess = 'installation' | 'organization'

/** What a model has besides its variants. */
export type ModelHead = Pick<
  CatalogModel,
  'id' | 'source' | 'modelName' | 'displayName' | 'provider' | 'description' | 'license'
>

/** Where the files of a variant are, and whether the Hub asks for an accepted license. */
export type VariantOrigin = (variant: RepositoryVariant) => Pick<CatalogVariant, 'weights' | 'gated'>

export function fromRepository({ name, commit, isGated }: HubRepository, access: HubAccess): VariantOrigin {
  return ({ files }) => ({
    weights: { kind: 'huggingface', repo: name, revision: commit, files, access },
    gated: isGated,
  })
}

/** What a repository has besides its variants. */
export function toRepositoryHead(
  modelName: string,
  repository: HubRepository,
  variants: readonly RepositoryVariant[],
): ModelHead {
  const [owner = '', name = ''] = repository.name.split('/')
  return {
    id: uuidv7(),
    source: {
      kind: 'huggingface',
      repository: repository.name,
      commit: repository.commit,
      bytes: variants.reduce((sum, { weightBytes }) => sum + weightBytes, 0),
    },
    modelName,
    displayName: name,
    provider: owner,
    description: `${repository.name} on the Hub, as of commit ${repository.commit.slice(0, 7)}.`,
    license: repository.license ?? unknownLicense,
  }
}

/** A catalog model of at least one variant that an engine can load. `base` is null without a LoRA. */
export function toOwnModel(
  head: ModelHead,
  variants: readonly RepositoryVariant[],
  engines: readonly RuntimeEngine[],
  origin: VariantOrigin,
  base: LoraBase | null,
): CatalogModel {
  const converted = variants.map((variant) => toModelVariant(head.modelName, variant, engines, origin))
  const [first] = variants
  return {
    ...head,
    family: first?.architectureName ?? head.displayName,
    modelType: first?.modelType ?? 'LLM',
    tags: listTags(variants),
    suggestedPrompts: [],
    enabled: true,
    sortOrder: 0,
    variants: converted,
    default: chooseDefault(converted),
    ...(base === null ? {} : inherit(base)),
  }
}

/** What a LoRA has from its base model. */
function inherit({ model, lora }: LoraBase): Pick<CatalogModel, 'lora' | 'family' | 'modelType' | 'tags'> {
  const { family, modelType, tags } = model
  return { lora, family, modelType, tags: [...new Set([...tags, 'adapter'])] }
}

/** The deployable variant of what a repository or a file contains. */
export function toModelVariant(
  modelName: string,
  variant: RepositoryVariant,
  engines: readonly RuntimeEngine[],
  origin: VariantOrigin,
): CatalogVariant {
  return {
    modelName,
    modelType: variant.modelType,
    format: variant.format,
    sizeInBillions: toBillions(variant.parameters),
    quantization: variant.quantization,
    contextLength: variant.contextTokens ?? usualContextTokens,
    architecture: variant.architecture,
    weightBytes: variant.weightBytes,
    ...origin(variant),
    engines: toProfiles(variant, engines),
  }
}

/** Billions with three digits; at least a thousandth. */
export function toBillions(parameters: number): number {
  return Math.max(0.001, Number((parameters / 1e9).toPrecision(3)))
}

function toProfiles(variant: RepositoryVariant, engines: readonly RuntimeEngine[]): EngineProfiles {
  const { projector } = variant
  if (projector === null) return {}
  return Object.fromEntries(listEnginesFor(variant, engines).map(({ profile }) => [profile, { projector }]))
}

/** What the model can do as far as the files say. */
export function listTags(variants: readonly RepositoryVariant[]): string[] {
  const pooled = variants.find(({ modelType }) => modelType !== 'LLM')
  if (pooled !== undefined) return [pooled.modelType]
  const template = variants.find(({ chatTemplate }) => chatTemplate !== null)?.chatTemplate ?? null
  const seesImages = variants.some(({ projector, seesImages: sees }) => sees || projector !== null)
  // Other engines need parsers for calls of tools and for thoughts, which a repository doesn't name.
  const readsTemplates = variants.every(({ format }) => format === ggufFormat)
  const tags = [
    template !== null && 'chat',
    readsTemplates && template !== null && /\btools\b/.test(template) && 'tools',
    readsTemplates && template?.includes('<think>') && 'reasoning',
    seesImages && 'vision',
  ]
  return tags.filter((tag): tag is string => typeof tag === 'string')
}

function chooseDefault(variants: readonly CatalogVariant[]): CatalogVariant {
  for (const name of usualQuantizations) {
    const found = variants.find(({ quantization }) => quantization === name)
    if (found !== undefined) return found
  }
  return variants.toSorted((one, other) => (one.weightBytes ?? 0) - (other.weightBytes ?? 0))[0]!
}
