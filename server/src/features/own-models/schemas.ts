import { z } from 'zod'
import { count, managedBy, optionalField, text, unicodeText } from '../../http/schemas.ts'
import { modelTypes } from '../../ports/model-variant.ts'
import { listTags, toBillions } from './to-model.ts'
import type { InspectedVariant, Inspection, RepositoryRequest } from './inspect.ts'
import { parseRepositoryName } from './repository-name.ts'
import { uploadId } from './uploads/schemas.ts'

const repository = unicodeText()
  .max(500)
  .transform((value, context) => {
    const parsed = parseRepositoryName(value)
    if (parsed !== null) return parsed
    context.addIssue({ code: 'custom', message: 'Enter owner/name, or the URL of the page of a repository.' })
    return z.NEVER
  })
  .describe('A repository on the Hub as `owner/name`, or the URL of its page')

const revision = optionalField(
  unicodeText().regex(/^[\w.-][\w./-]{0,199}$/, 'Enter a branch, a tag or a commit.'),
).describe('A branch, a tag or a commit; by default that of the URL, else `main`')

const token = optionalField(
  z
    .string()
    .regex(/^[\x21-\x7e]{1,500}$/, 'Enter a token of letters, digits and signs without spaces.')
    .meta({ format: 'password' }),
)

const inspected = {
  huggingface: repository.optional(),
  revision,
  upload_id: optionalField(uploadId).describe('An upload, instead of a repository'),
  base_model: optionalField(text({ min: 1, max: 128 })).describe(
    'For a LoRA, the name or id of the model in the catalog that it changes; by default the one that its files name',
  ),
}

interface Source {
  huggingface?: unknown
  upload_id?: unknown
}

function hasOneSource({ huggingface, upload_id: upload }: Source): boolean {
  return (huggingface === undefined) !== (upload === undefined)
}

const oneSource = { path: ['huggingface'], message: 'Name either a repository or an upload.' }

export const inspectModelBody = z
  .strictObject({
    ...inspected,
    token: token.describe('A token of the Hub for this request only, instead of that of the organization'),
  })
  .refine(hasOneSource, oneSource)
  .meta({
    id: 'ModelInspectionRequest',
    description: 'A repository or an upload to read',
    examples: [{ huggingface: 'Qwen/Qwen3-0.6B-GGUF' }],
  })

export const importModelBody = z
  .strictObject({
    ...inspected,
    model_name: optionalField(
      unicodeText().regex(
        /^[A-Za-z0-9][\w.-]{0,127}$/,
        'Enter at most 128 letters, digits, dots, dashes and underscores.',
      ),
    ).describe(
      'The name to use when creating a deployment; by default that of the repository or file in lower case',
    ),
    token: token.describe(
      'A token of the Hub for gated and private repositories. Berth keeps it encrypted for the organization, and never shows it.',
    ),
    managed_by: managedBy.optional(),
  })
  .refine(hasOneSource, oneSource)
  .meta({
    id: 'DeployableModelImport',
    description: 'A repository or an upload to add to the catalog of the organization',
    examples: [{ huggingface: 'Qwen/Qwen3-0.6B-GGUF', model_name: 'qwen3-small' }],
  })

export const updateModelBody = z
  .strictObject({
    display_name: text({ min: 1, max: 200 }).optional().describe('Name for people'),
    description: text({ min: 0, max: 2000 }).optional().describe('One or two sentences'),
    tags: z
      .array(text({ min: 1, max: 50 }))
      .max(20)
      .optional()
      .describe('Words to find the model by; `tools`, `reasoning` and `vision` say what it can do'),
    enabled: z.boolean().optional().describe('false to hide the model and refuse new deployments'),
    sort_order: z.int32().optional().describe('Position in the catalog'),
  })
  .meta({
    id: 'DeployableModelUpdate',
    description: 'Changes of a model; omitted fields stay',
    examples: [{ display_name: 'Support assistant', enabled: true }],
  })

const inspectedVariantBody = z.object({
  model_format: z.string().describe('Format of the weights'),
  model_size_in_billions: z.number().nullable().describe('Parameters in billions; null when unknown'),
  quantizations: z.array(z.string()).describe('The quantization of these weights'),
  weight_bytes: count.describe('Exact size of the weights'),
  engine: z
    .string()
    .nullable()
    .describe('The engine that would serve it; null without one, or if the compute backend does not say'),
  runs: z.boolean().describe('true if the variant can be deployed here now'),
  reason: z.string().nullable().describe('Why the variant can not run, as a sentence; null if it can'),
  instance_type: z
    .string()
    .nullable()
    .describe('The instance type that it would get; null, like the next fields, if it can not run'),
  gpu_count: count.nullable().describe('0 for a CPU instance'),
  price_per_hour: z.string().nullable().describe('Price per hour in `currency`, a decimal string'),
  memory_bytes: count.nullable().describe('Estimated memory for weights, caches and overhead'),
  context_tokens: count.nullable().describe('The longest request there, in tokens'),
})

export const inspectionBody = z
  .object({
    repository: z.string().nullable().describe('The repository as the Hub spells it; null for an upload'),
    commit: z.string().nullable().describe('The commit that was read; null for an upload'),
    license: z.string().nullable().describe('License that the owner names; null for none'),
    gated: z.boolean().describe('true if the Hub asks for an accepted license and a token'),
    model_type: z.enum(modelTypes).describe('What the model does: chat, embeddings, or ranking of documents'),
    context_tokens: count.nullable().describe('The context that the model was trained with'),
    tags: z.array(z.string()).describe('What the model can do, as far as the files say'),
    currency: z.string().describe('Currency of the prices'),
    adapter: z
      .object({
        base_repository: z
          .string()
          .nullable()
          .describe('The repository of the base model, as the files name it'),
        base_model: z
          .string()
          .nullable()
          .describe('Name of the base model in the catalog; null if the organization does not see it'),
        rank: count.describe('The largest rank of its matrices'),
        target_modules: z.array(z.string()).describe('The matrices of the base model that it changes'),
      })
      .nullable()
      .describe('What a LoRA (low-rank adapter) is; null for another model'),
    variants: z.array(inspectedVariantBody).describe('What the repository or file contains, largest first'),
  })
  .meta({ id: 'ModelInspection', description: 'What an import would give' })

/** What a request names: a repository or an upload. */
export type RequestedSource =
  | { repository: RepositoryRequest }
  | { uploadId: string; baseModel: string | undefined }

export function toSource(body: z.output<typeof inspectModelBody>): RequestedSource {
  const { huggingface, upload_id: upload, revision: given, base_model: baseModel } = body
  if (huggingface === undefined) return { uploadId: upload!, baseModel }
  const { name, revision: ofUrl } = huggingface
  return { repository: { name, revision: given ?? ofUrl ?? 'main', token: body.token, baseModel } }
}

export function toInspectionBody(
  { repository: read, variants, base }: Inspection,
  currency: string,
): z.infer<typeof inspectionBody> {
  const loadable = variants.filter(({ obstacle }) => obstacle === null).map(({ variant }) => variant)
  return {
    repository: read?.name ?? null,
    commit: read?.commit ?? null,
    license: read?.license ?? null,
    gated: read?.isGated ?? false,
    model_type: loadable[0]?.modelType ?? 'LLM',
    context_tokens: loadable[0]?.contextTokens ?? null,
    tags: listTags(loadable),
    currency,
    adapter: toLoraBody(variants, base),
    variants: variants.map(toVariantBody),
  }
}

function toLoraBody(variants: readonly InspectedVariant[], base: Inspection['base']) {
  const lora = variants.find(({ variant }) => variant.lora !== null)?.variant.lora ?? null
  return (
    lora && {
      base_repository: lora.baseRepository,
      base_model: base?.lora.baseModelName ?? null,
      rank: lora.rank,
      target_modules: lora.targetModules,
    }
  )
}

function toVariantBody({ variant, engine, obstacle, placement }: InspectedVariant) {
  const selection = placement?.outcome === 'selected' ? placement.selection : null
  const refusal = placement?.outcome === 'infeasible' ? placement.reason : null
  return {
    model_format: variant.format,
    model_size_in_billions: variant.parameters === 0 ? null : toBillions(variant.parameters),
    quantizations: [variant.quantization],
    weight_bytes: variant.weightBytes,
    engine: obstacle === null ? (engine?.name ?? null) : null,
    runs: variant.lora === null ? selection !== null : obstacle === null,
    reason: obstacle === null ? refusal : `${obstacle}.`,
    instance_type: selection?.offer.instanceType ?? null,
    gpu_count: selection?.offer.gpuCount ?? null,
    price_per_hour: selection?.offer.pricePerHour ?? null,
    memory_bytes: placement?.memoryBytes ?? null,
    context_tokens: selection?.sizing.capacity.contextTokens ?? null,
  }
}
