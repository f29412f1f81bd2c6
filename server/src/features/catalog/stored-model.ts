/** The JSON of models in the database. Rows outlive releases, so it has a version and a parser. */

import { z } from 'zod'
import { modelTypes } from '../../ports/model-variant.ts'
import type {
  EngineOptions,
  EngineProfile,
  EngineProfiles,
  ModelArchitecture,
  ModelVariant,
  WeightSource,
} from '../../ports/model-variant.ts'
import type { LoraFacts, CatalogModel, CatalogVariant, ModelSource } from './model.ts'

/** The version of the JSON that this server writes, and the newest that it reads. */
const storedVersion = 1

/** A schema for every field of a type, so that a new field can't be forgotten here. */
type FieldsOf<Type> = { [Field in keyof Type]-?: z.ZodType<Type[Field]> }

const architectureSchema = z.object({
  parameters: z.number(),
  layers: z.number(),
  attentionHeads: z.number(),
  kvHeads: z.number(),
  headDimension: z.number(),
  hiddenSize: z.number(),
  vocabularySize: z.number(),
  slidingLayers: z.number().optional(),
  slidingWindow: z.number().optional(),
  slidingKvHeads: z.number().optional(),
  slidingHeadDimension: z.number().optional(),
  stateBytes: z.number().optional(),
} satisfies FieldsOf<ModelArchitecture>)

const weightsSchema: z.ZodType<WeightSource> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('file'), path: z.string() }),
  z.object({ kind: z.literal('url'), url: z.string(), sha256: z.string().optional() }),
  z.object({ kind: z.literal('upload'), sha256: z.string(), fileName: z.string() }),
  z.object({ kind: z.literal('endpoint'), endpoint: z.string(), model: z.string() }),
  z.object({
    kind: z.literal('huggingface'),
    repo: z.string(),
    revision: z.string(),
    files: z.array(z.string()),
    access: z.enum(['installation', 'organization']).optional(),
  }),
])

const optionsSchema: z.ZodType<EngineOptions | undefined> = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .optional()

const profileSchema = z.object({
  minimumVersion: z.string().optional(),
  modelName: z.string().optional(),
  toolParser: z.string().optional(),
  reasoningParser: z.string().optional(),
  separatesReasoning: z.boolean().optional(),
  projector: z.string().optional(),
  chatTemplate: z.string().optional(),
  options: optionsSchema,
} satisfies FieldsOf<EngineProfile>)

const enginesSchema: z.ZodType<EngineProfiles> = z.record(z.string(), profileSchema)

const modelTypeSchema = z.enum(modelTypes)

const variantFields = {
  modelName: z.string(),
  modelType: modelTypeSchema,
  format: z.string(),
  sizeInBillions: z.number(),
  quantization: z.string(),
  contextLength: z.number(),
  architecture: architectureSchema.nullable(),
  weightBytes: z.number().nullable(),
  weights: weightsSchema,
  engines: enginesSchema,
} satisfies FieldsOf<ModelVariant>

const catalogVariantSchema = z.object({
  ...variantFields,
  gated: z.boolean(),
} satisfies FieldsOf<CatalogVariant>)

const variantSchema: z.ZodType<ModelVariant> = z.object(variantFields)

const sourceSchema: z.ZodType<ModelSource> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('catalog') }),
  z.object({
    kind: z.literal('huggingface'),
    repository: z.string(),
    commit: z.string(),
    bytes: z.number(),
  }),
  z.object({ kind: z.literal('upload'), fileName: z.string(), bytes: z.number() }),
  z.object({
    kind: z.literal('endpoint'),
    endpoint: z.string(),
    model: z.string(),
    prices: z.object({ input: z.string(), output: z.string() }).nullable(),
  }),
])

const loraSchema = z.object({
  baseModelName: z.string(),
  baseSizes: z.array(z.number()),
  rank: z.number(),
  targetModules: z.array(z.string()),
} satisfies FieldsOf<LoraFacts>)

const modelSchema: z.ZodType<CatalogModel> = z.object({
  id: z.string(),
  source: sourceSchema,
  modelName: z.string(),
  displayName: z.string(),
  provider: z.string(),
  family: z.string(),
  modelType: modelTypeSchema,
  lora: loraSchema.optional(),
  description: z.string(),
  license: z.string(),
  tags: z.array(z.string()),
  suggestedPrompts: z.array(z.string()),
  enabled: z.boolean(),
  sortOrder: z.number(),
  variants: z.array(catalogVariantSchema),
  default: catalogVariantSchema,
} satisfies FieldsOf<CatalogModel>)

/** The JSON of a model for `deployable_models.entry`. */
export function serializeModel(model: CatalogModel): string {
  return JSON.stringify({ version: storedVersion, ...model })
}

/** The JSON of a variant for `deployments.variant`. */
export function serializeVariant(variant: ModelVariant): string {
  return JSON.stringify({ version: storedVersion, ...variant })
}

/** Parses the entry of a row of `deployable_models`. Throws if it is invalid or has a newer version. */
export function parseStoredModel({ id, entry }: { id: string; entry: unknown }): CatalogModel {
  return parse(modelSchema, entry, `the entry of the model ${id}`)
}

/** Parses the variant of a row of `deployments`. Throws if it is invalid or has a newer version. */
export function parseStoredVariant({ id, variant }: { id: string; variant: unknown }): ModelVariant {
  return parse(variantSchema, variant, `the variant of the deployment ${id}`)
}

const headerSchema = z.object({ version: z.int().positive() })

function parse<Value>(schema: z.ZodType<Value>, stored: unknown, name: string): Value {
  const header = headerSchema.safeParse(stored)
  if (!header.success) throw toError(name, header.error)
  const { version } = header.data
  if (version > storedVersion) {
    throw new Error(
      `${name} has version ${version}, but this server reads up to version ${storedVersion}. Start the release that wrote it.`,
    )
  }
  const parsed = schema.safeParse(stored)
  if (!parsed.success) throw toError(name, parsed.error)
  return parsed.data
}

function toError(name: string, error: z.ZodError): Error {
  return new Error(`${name} is invalid:\n${z.prettifyError(error)}`, { cause: error })
}
