import { z } from 'zod'
import type { RuntimeOffer } from '../../ports/model-runtime.ts'
import { count } from '../../http/schemas.ts'
import { tokenPrices } from '../catalog/schemas.ts'
import type { Alternative } from './alternatives.ts'
import type { DeploymentPlan, Placement } from './plan.ts'

const hourlyPrice = z.string().nullable().describe('Price per hour in `currency`, a decimal string')

/** Only where several runtimes make offers */
const clusterId = z
  .string()
  .optional()
  .describe('The cluster that offers it; absent if the installation has one compute backend')

const neededMemory = z
  .int()
  .nullable()
  .describe(
    'Estimated memory for weights, caches and overhead; null when the compute backend offers no instance types',
  )

export const contextTokens = z.int().nullable().describe('The longest request, in tokens')

export const parallelSequences = z
  .int()
  .nullable()
  .describe(
    'Requests processed at the same time. vLLM shares its cache between them, so it serves this many of a typical length, and fewer ' +
      'long ones.',
  )

const alternative = z
  .object({
    instance_type: z.string().describe('Name of the instance type'),
    cluster_id: clusterId,
    gpu_count: count.describe('0 for a CPU instance'),
    price_per_hour: hourlyPrice,
    context_tokens: count.describe('The longest request there, in tokens'),
    parallel_sequences: count.describe('Requests processed at the same time there'),
  })
  .nullable()

/** What a plan and a placement tell about the chosen instance. */
const choice = {
  feasible: z.boolean().describe('false if no instance type can run the model'),
  obstacle: z
    .enum(['in_use', 'memory', 'hardware'])
    .nullable()
    .describe(
      'Why no instance type can run the model: other programs use the memory, all have too little, or none has the hardware for its format; null if one can',
    ),
  instance_type: z
    .string()
    .nullable()
    .describe('null, like the other choice fields, when `feasible` is false'),
  cluster_id: clusterId,
  gpu_count: count.nullable().describe('0 for a CPU instance'),
  price_per_hour: hourlyPrice,
  token_prices: tokenPrices
    .nullable()
    .describe('What tokens cost at the endpoint that has the model, in `currency`; null for other models'),
  memory_bytes: neededMemory,
  weight_bytes: count.nullable().describe('Estimated size of the weights, which are downloaded once'),
  context_tokens: contextTokens,
  parallel_sequences: parallelSequences,
}

const variantFields = {
  model_format: z.string().describe('Format of the weights'),
  model_size_in_billions: z.number().describe('Parameters in billions'),
  quantization: z.string().describe('Quantization of the weights'),
}

export const planBody = z
  .object({
    ...variantFields,
    ...choice,
    region: z.string().nullable().describe('Region of the instance; null if the backend has none'),
    currency: z.string().describe('Currency of the prices'),
    start_seconds: z
      .number()
      .nullable()
      .describe(
        'Median of the last starts of this variant in your organization, from the request for an instance until it answered, in ' +
          'seconds; null without any',
      ),
    context_limited_by: z
      .enum(['model', 'ceiling', 'memory'])
      .nullable()
      .describe(
        'What limits `context_tokens`: the model, the ceiling that the operator has set, or the memory',
      ),
    sequences_limited_by: z
      .enum(['engine', 'ceiling', 'memory'])
      .nullable()
      .describe('What limits `parallel_sequences`'),
    cheaper: alternative.describe(
      'The next cheaper instance type, on which the model would serve less; null if it fits on none',
    ),
    larger: alternative.describe(
      'The next more expensive instance type with more capacity; null without one',
    ),
    reason: z
      .string()
      .describe(
        'Why Berth chose the variant, if the request left it open; the memory estimate, the choice of the instance type, and why ' +
          'others were ruled out',
      ),
    command: z
      .array(z.string())
      .nullable()
      .describe(
        'The engine’s command line with the deployment’s options, without addresses, files and secrets; null if no instance type can run ' +
          'the model, or Berth doesn’t write it',
      ),
    considered: z
      .array(
        z.object({
          instance_type: z.string().describe('Name of the instance type'),
          cluster_id: clusterId,
          fits: z.boolean().describe('Whether the model fits on it'),
          reason: z.string().describe('Why it fits or not'),
          price_per_hour: hourlyPrice,
        }),
      )
      .describe('All instance types: first those that fit, in order of preference, then the others'),
  })
  .meta({ id: 'DeploymentPlan', description: 'The instance that a deployment would get, and its price' })

export const placementBody = z
  .object({
    model_id: z.string().describe('Id of the model in the catalog'),
    model_name: z.string().describe('Name of the model'),
    ...variantFields,
    ...choice,
  })
  .meta({ id: 'Placement', description: 'The instance that a variant would get, and its price' })

export const placementsBody = z
  .object({
    currency: z.string().describe('Currency of the prices'),
    items: z.array(placementBody).describe('One item for each variant, in catalog order'),
  })
  .meta({ id: 'Placements', description: 'The instance and price of every catalog variant' })

function toCluster(offer: RuntimeOffer | undefined): { cluster_id?: string } {
  if (offer?.runtime.isOneOfSeveral !== true) return {}
  return { cluster_id: offer.runtime.clusterId ?? offer.runtime.name }
}

function toAlternative(given: Alternative | null): z.infer<typeof alternative> {
  if (given === null) return null
  const { offer, sizing } = given
  return {
    instance_type: offer.instanceType,
    ...toCluster(offer),
    gpu_count: offer.gpuCount,
    price_per_hour: offer.pricePerHour,
    context_tokens: sizing.capacity.contextTokens,
    parallel_sequences: sizing.capacity.parallelSequences,
  }
}

function toChoice({ result, tokenPrices: prices }: Pick<Placement, 'result' | 'tokenPrices'>) {
  const selection = result.outcome === 'selected' ? result.selection : null
  const { offer, sizing } = selection ?? {}
  return {
    feasible: selection !== null,
    obstacle: findObstacle(result),
    instance_type: offer?.instanceType ?? null,
    ...toCluster(offer),
    gpu_count: offer?.gpuCount ?? null,
    price_per_hour: offer?.pricePerHour ?? null,
    token_prices: prices,
    memory_bytes: result.memoryBytes,
    weight_bytes: sizing === undefined ? null : Math.ceil(sizing.estimate.weightBytes),
    context_tokens: sizing?.capacity.contextTokens ?? null,
    parallel_sequences: sizing?.capacity.parallelSequences ?? null,
  }
}

function findObstacle(result: Placement['result']): 'in_use' | 'memory' | 'hardware' | null {
  if (result.outcome === 'selected') return null
  if (result.isInUse) return 'in_use'
  return result.considered.some(({ isTooSmall }) => isTooSmall) ? 'memory' : 'hardware'
}

function toVariantFields({ format, sizeInBillions, quantization }: Placement['variant']) {
  return { model_format: format, model_size_in_billions: sizeInBillions, quantization }
}

export function toPlanBody(
  { choice: { variant, reason }, alternatives, startSeconds, command, ...plan }: DeploymentPlan,
  currency: string,
): z.infer<typeof planBody> {
  const { result } = plan
  const selection = result.outcome === 'selected' ? result.selection : null
  const explanation = result.outcome === 'selected' ? result.selection.reason : result.reason
  return {
    ...toVariantFields(variant),
    ...toChoice(plan),
    region: selection?.offer.region ?? null,
    currency,
    start_seconds: startSeconds,
    context_limited_by: selection?.sizing.limitedBy.context ?? null,
    sequences_limited_by: selection?.sizing.limitedBy.sequences ?? null,
    cheaper: toAlternative(alternatives.cheaper),
    larger: toAlternative(alternatives.larger),
    reason: `${reason ?? ''} ${explanation}`.trimStart(),
    command: command === null ? null : [...command],
    considered: result.considered.map(({ offer, fits, reason: why }) => ({
      instance_type: offer.instanceType,
      ...toCluster(offer),
      fits,
      reason: why,
      price_per_hour: offer.pricePerHour,
    })),
  }
}

export function toPlacementBody({ modelId, variant, ...placed }: Placement): z.infer<typeof placementBody> {
  return {
    model_id: modelId,
    model_name: variant.modelName,
    ...toVariantFields(variant),
    ...toChoice(placed),
  }
}
