import { z } from 'zod'
import { count, managedBy, queryBoolean, timestamp, unicodeText } from '../../http/schemas.ts'
import { modelTypes } from '../../ports/model-variant.ts'
import type { RuntimeEngine } from '../../ports/runtime-engine.ts'
import { listVariants, unknownLicense } from './model.ts'
import type { CatalogVariant, ModelSource } from './model.ts'
import { listServedTags } from './engine-choice.ts'
import type { StoredModel } from './store.ts'

const enabledOnly = queryBoolean(true).describe('false to include disabled models')

export const listModelsQuery = z.object({
  enabled_only: enabledOnly,
  model_type: unicodeText()
    .default('LLM')
    .describe('`LLM`, `embedding` or `rerank`; any other word gives an empty list'),
  provider: unicodeText().trim().optional().describe('Exact provider name, case-insensitive'),
  q: unicodeText()
    .optional()
    .describe('Free text. Every word must occur in the name, display name, family, description or tags'),
})

export const getModelQuery = z.object({ enabled_only: enabledOnly })

export const modelParams = z.object({
  model_id: unicodeText().meta({ description: 'Id in the catalog', examples: ['qwen2.5-instruct'] }),
})

export const tokenPrices = z.object({
  input: z.string().describe('For a million tokens of prompts'),
  output: z.string().describe('For a million generated tokens'),
})

const sourceBody = z
  .object({
    kind: z
      .enum(['catalog', 'huggingface', 'upload', 'endpoint'])
      .describe(
        '`catalog` for the catalog file, `huggingface` for a repository on the Hub, `upload` for an uploaded file, `endpoint` for a server that runs the model already',
      ),
    repository: z.string().nullable().describe('The repository as owner/name; null for another kind'),
    commit: z.string().nullable().describe('The commit at which the repository was read'),
    file_name: z.string().nullable().describe('Name of an uploaded file'),
    bytes: count.nullable().describe('Size of the weights of all variants'),
    endpoint_id: z.string().nullable().describe('Id of the endpoint that has the model'),
    prices: tokenPrices
      .nullable()
      .describe('What tokens cost at the endpoint, in the currency of the installation; null without prices'),
  })
  .describe('Where the model comes from')

export const deployableModelBody = z
  .object({
    id: z.string().describe('Id in the catalog'),
    model_name: z.string().describe('The name to use when creating a deployment'),
    display_name: z.string().describe('Name for people'),
    provider: z.string().describe('Who made the model'),
    family: z.string().describe('Family of models'),
    model_type: z.enum(modelTypes).describe('What the model does: chat, embeddings, or ranking of documents'),
    description: z.string().describe('One or two sentences'),
    license: z
      .string()
      .nullable()
      .meta({
        description: 'License of the weights, as its maker names it; null if unknown',
        examples: ['apache-2.0'],
      }),
    context_tokens: count.describe('The longest context of its variants, before hardware limits it'),
    tags: z
      .array(z.string())
      .describe('Without `vision` if no engine of this server accepts images for the model'),
    suggested_prompts: z.array(z.string()).describe('Prompts to try the model with'),
    enabled: z.boolean().describe('false if the operator hides the model'),
    sort_order: z.int().describe('Position in the catalog'),
    owner: z
      .enum(['installation', 'organization'])
      .describe('`organization` for a model that only the members of the organization see'),
    source: sourceBody,
    base_model: z
      .string()
      .nullable()
      .describe(
        'For a LoRA (low-rank adapter), the name of the model that it changes. A deployment of that model serves it. null for other models',
      ),
    managed_by: managedBy,
    created_at: timestamp.describe('When the model came into the catalog'),
    updated_at: timestamp.describe('Latest change'),
    variants: z
      .array(
        z.object({
          model_format: z.string().meta({ description: 'Format of the weights', examples: ['ggufv2'] }),
          model_size_in_billions: z.number().describe('Parameters in billions'),
          quantizations: z.array(z.string()).describe('The quantizations of this format and size'),
          default: z.boolean().describe('true if these include the default variant'),
        }),
      )
      .describe('The deployable variants, by format and size'),
    default_variant: z
      .object({
        model_format: z.string().describe('Format of the weights'),
        model_size_in_billions: z.number().describe('Parameters in billions'),
        quantization: z.string().describe('Quantization of the weights'),
      })
      .describe(
        'The variant of deployments that specify no format, size or quantization, on the current hardware',
      ),
  })
  .meta({ id: 'DeployableModel', description: 'A model of the catalog with its variants' })

export const deployableModelsBody = z
  .object({ items: z.array(deployableModelBody).describe('The models in catalog order') })
  .meta({ id: 'DeployableModels', description: 'The models of the catalog' })

/** `usual` is the default variant. The tags claim what any of the `engines` of all runtimes can do. */
export function toDeployableModelBody(
  row: StoredModel,
  usual: CatalogVariant,
  engines: readonly RuntimeEngine[],
): z.infer<typeof deployableModelBody> {
  const { entry } = row
  return {
    id: row.id,
    model_name: entry.modelName,
    display_name: entry.displayName,
    provider: row.provider,
    family: entry.family,
    model_type: row.model_type,
    description: entry.description,
    license: entry.license === unknownLicense ? null : entry.license,
    context_tokens: Math.max(...entry.variants.map(({ contextLength }) => contextLength)),
    tags: listServedTags(entry, engines),
    suggested_prompts: entry.suggestedPrompts,
    enabled: row.enabled,
    sort_order: row.sort_order,
    owner: row.organization_id === null ? 'installation' : 'organization',
    source: toSourceBody(entry.source),
    base_model: entry.lora?.baseModelName ?? null,
    managed_by: row.managed_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    variants: listVariants(entry, usual),
    default_variant: {
      model_format: usual.format,
      model_size_in_billions: usual.sizeInBillions,
      quantization: usual.quantization,
    },
  }
}

function toSourceBody(source: ModelSource): z.infer<typeof sourceBody> {
  const none = {
    repository: null,
    commit: null,
    file_name: null,
    bytes: null,
    endpoint_id: null,
    prices: null,
  }
  if (source.kind === 'endpoint') {
    return { ...none, kind: source.kind, endpoint_id: source.endpoint, prices: source.prices }
  }
  if (source.kind !== 'upload') return { ...none, ...source }
  const { kind, fileName, bytes } = source
  return { ...none, kind, file_name: fileName, bytes }
}
