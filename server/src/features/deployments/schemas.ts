import { z } from 'zod'
import { page, pageQuery, queryBoolean, queryInteger, timestamp, unicodeText } from '../../http/schemas.ts'
import type { LogLine } from '../../ports/model-runtime.ts'
import type { DeploymentUsage } from '../metering/deployment-usage.ts'
import { maxLogLines } from './engine-log.ts'
import type { Alternative } from './alternatives.ts'
import { deploymentStatuses } from './lifecycle.ts'
import type { DeploymentPlan, Placement } from './plan.ts'
import type { CapacityMinimums } from './serving-capacity.ts'
import type { DeploymentEvent, DeploymentSummary } from './store.ts'

const choiceText = unicodeText()
  .trim()
  .min(1, 'Must not be empty. Omit the field to use the default.')
  .optional()

const sizeInBillions = z
  .union(
    [z.number().positive(), z.string().regex(/^(?=.*[1-9])\d{1,6}([._]\d{1,6})?$/)],
    'Enter a size greater than 0, such as 7, 1.5, "1.5" or "1_5".',
  )
  .transform((value) => (typeof value === 'string' ? Number(value.replace('_', '.')) : value))
  .meta({ examples: [7, 1.5, '1.5', '1_5'] })

export const createDeploymentBody = z
  .strictObject({
    model_name: unicodeText().trim().min(1, 'Enter the name of a catalog model.'),
    model_format: choiceText,
    model_size_in_billions: sizeInBillions.optional(),
    quantization: choiceText,
  })
  .meta({
    id: 'DeploymentRequest',
    description: 'Omitted fields are taken from the default variant of the model',
    examples: [
      {
        model_name: 'qwen2.5-instruct',
        model_format: 'ggufv2',
        model_size_in_billions: 0.5,
        quantization: 'q4_k_m',
      },
    ],
  })

const minimum = (most: number) => z.int().min(1).max(most).nullable().optional()

const minimums = {
  min_context_tokens: minimum(16_777_216).describe(
    'The longest request that the model must accept, in tokens; null for no minimum',
  ),
  min_parallel_sequences: minimum(4096).describe(
    'How many requests the engine must process at the same time; null for no minimum',
  ),
}

export const planRequestBody = createDeploymentBody.extend(minimums).meta({
  id: 'DeploymentPlanRequest',
  examples: [{ model_name: 'qwen2.5-instruct', min_context_tokens: 32_768 }],
})

export const changeDeploymentBody = z
  .object(minimums)
  .meta({ id: 'DeploymentChange', examples: [{ min_context_tokens: 32_768 }] })

/** Omitted minimums stay undefined. */
export function toMinimumChanges(body: z.infer<typeof changeDeploymentBody>) {
  return { contextTokens: body.min_context_tokens, parallelSequences: body.min_parallel_sequences }
}

export function toPlanMinimums(body: z.infer<typeof changeDeploymentBody>): CapacityMinimums {
  const { contextTokens = null, parallelSequences = null } = toMinimumChanges(body)
  return { contextTokens, parallelSequences }
}

export const deploymentUsageBody = z
  .object({
    requests: z.int().describe('Answered inference requests'),
    input_tokens: z.int(),
    output_tokens: z.int(),
    instance_seconds: z
      .number()
      .describe('From the start of each instance to its release or loss, or to now while it runs'),
    cost: z.string().describe('Total cost so far, a decimal in the main unit of `currency`; not rounded'),
    currency: z.string(),
  })
  .meta({ id: 'DeploymentUsage' })

export function toVariantChoice(body: z.infer<typeof createDeploymentBody>) {
  return {
    modelName: body.model_name,
    format: body.model_format,
    sizeInBillions: body.model_size_in_billions,
    quantization: body.quantization,
  }
}

const hourlyPrice = z.string().nullable().describe('Price per hour in `currency`, a decimal string')

const neededMemory = z
  .int()
  .nullable()
  .describe(
    'Estimated memory for weights, caches and overhead; null when the compute backend offers no instance types',
  )

const contextTokens = z.int().nullable().describe('The longest request, in tokens')

const parallelSequences = z
  .int()
  .nullable()
  .describe(
    'Requests processed at the same time. vLLM shares its cache between them, so it serves this many of a typical length, and fewer ' +
      'long ones.',
  )

const alternative = z
  .object({
    instance_type: z.string(),
    gpu_count: z.int(),
    price_per_hour: hourlyPrice,
    context_tokens: z.int(),
    parallel_sequences: z.int(),
  })
  .nullable()

export const planBody = z
  .object({
    feasible: z.boolean(),
    instance_type: z
      .string()
      .nullable()
      .describe('null, like the other choice fields, when `feasible` is false'),
    gpu_count: z.int().nullable().describe('0 for a CPU instance'),
    region: z.string().nullable(),
    price_per_hour: hourlyPrice,
    currency: z.string(),
    memory_bytes: neededMemory,
    context_tokens: contextTokens,
    parallel_sequences: parallelSequences,
    context_limited_by: z
      .enum(['model', 'ceiling', 'memory'])
      .nullable()
      .describe(
        'What limits `context_tokens`: the model, the ceiling that the operator has set, or the memory',
      ),
    sequences_limited_by: z.enum(['engine', 'ceiling', 'memory']).nullable(),
    cheaper: alternative.describe(
      'The next cheaper instance type, on which the model would serve less; null if it fits on none',
    ),
    larger: alternative.describe(
      'The next more expensive instance type with more capacity; null if there is none',
    ),
    reason: z
      .string()
      .describe('The memory estimate, the choice, and why other instance types were ruled out'),
    considered: z
      .array(
        z.object({
          instance_type: z.string(),
          fits: z.boolean(),
          reason: z.string(),
          price_per_hour: hourlyPrice,
        }),
      )
      .describe('All instance types: first those that fit, in order of preference, then the others'),
  })
  .meta({ id: 'DeploymentPlan' })

export const placementBody = z
  .object({
    model_id: z.string().describe('Id of the model in the catalog'),
    model_name: z.string(),
    model_format: z.string(),
    model_size_in_billions: z.number(),
    quantization: z.string(),
    memory_bytes: neededMemory,
    feasible: z.boolean(),
    instance_type: z
      .string()
      .nullable()
      .describe('null, like the other choice fields, when `feasible` is false'),
    gpu_count: z.int().nullable().describe('0 for a CPU instance'),
    price_per_hour: hourlyPrice,
    context_tokens: contextTokens,
    parallel_sequences: parallelSequences,
  })
  .meta({ id: 'Placement' })

export const placementsBody = z
  .object({ currency: z.string(), items: z.array(placementBody) })
  .meta({ id: 'Placements' })

export const listDeploymentsQuery = pageQuery.extend({
  active: queryBoolean(false).describe('true to exclude terminated deployments'),
})

export const logsQuery = z.object({
  tail: queryInteger({ min: 0, max: maxLogLines })
    .optional()
    .describe(`The number of last lines; ${maxLogLines} by default, and 200 for a stream`),
})

export const deploymentParams = z.object({ deployment_id: z.string() })

export const deploymentBody = z
  .object({
    id: z.string(),
    user_id: z.string(),
    organization_id: z.string(),
    cluster_id: z.string().nullable(),
    instance_id: z.string().nullable(),
    gpu_allocation_id: z.string().nullable(),
    model_name: z.string(),
    model_format: z.string(),
    model_size_in_billions: z.number(),
    quantization: z.string(),
    inference_model_uid: z.string().describe('Identifier of the model inside the engine'),
    status: z.enum(deploymentStatuses),
    status_message: z.string().nullable().describe('What the deployment is currently waiting for'),
    progress: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe('Download progress from 0 to 1; null when nothing is downloading or the size is unknown'),
    selected_instance_type: z.string().nullable(),
    selection_reason: z.string().nullable(),
    engine: z
      .object({
        name: z
          .enum(['vllm', 'llama.cpp', 'embedded'])
          .describe("`embedded` is Berth's own engine over llama.cpp"),
        version: z
          .string()
          .nullable()
          .describe('`0.28.0` for vLLM, `10964` for build b10964 of llama.cpp; null when unknown'),
      })
      .nullable()
      .describe('The engine that serves the model; null until it is ready, and where Xinference chooses it'),
    context_tokens: contextTokens,
    parallel_sequences: parallelSequences,
    min_context_tokens: z.int().nullable().describe('The minimum that the owner has set'),
    min_parallel_sequences: z.int().nullable().describe('The minimum that the owner has set'),
    failure_stage: z.string().nullable(),
    failure_reason: z.string().nullable().describe('`<code>: <sentence>`'),
    created_at: timestamp,
    updated_at: timestamp,
    terminated_at: timestamp.nullable(),
  })
  .meta({ id: 'Deployment' })

export const deploymentsBody = page(deploymentBody)

export const eventItem = z.object({
  at: timestamp,
  status: z.enum(deploymentStatuses),
  stage: z.string().nullable(),
  message: z.string(),
})

export const logItem = z.object({ at: timestamp, line: z.string() })

export const eventsBody = z.object({ items: z.array(eventItem) }).meta({ id: 'DeploymentEvents' })

export const logsBody = z.object({ items: z.array(logItem) }).meta({ id: 'DeploymentLogs' })

export function toDeploymentBody(deployment: DeploymentSummary): z.infer<typeof deploymentBody> {
  return {
    id: deployment.id,
    user_id: String(deployment.user_id),
    organization_id: String(deployment.organization_id),
    cluster_id: deployment.cluster_id,
    instance_id: deployment.instance_id,
    gpu_allocation_id: deployment.gpu_allocation_id,
    model_name: deployment.model_name,
    model_format: deployment.model_format,
    model_size_in_billions: deployment.model_size_in_billions,
    quantization: deployment.quantization,
    inference_model_uid: deployment.inference_model_uid,
    status: deployment.status,
    status_message: deployment.status_message,
    progress: deployment.progress,
    selected_instance_type: deployment.selected_instance_type,
    selection_reason: deployment.selection_reason,
    engine: deployment.engine,
    context_tokens: deployment.context_tokens,
    parallel_sequences: deployment.parallel_sequences,
    min_context_tokens: deployment.min_context_tokens,
    min_parallel_sequences: deployment.min_parallel_sequences,
    failure_stage: deployment.failure_stage,
    failure_reason: deployment.failure_reason,
    created_at: deployment.created_at.toISOString(),
    updated_at: deployment.updated_at.toISOString(),
    terminated_at: deployment.terminated_at?.toISOString() ?? null,
  }
}

function toAlternative(given: Alternative | null): z.infer<typeof alternative> {
  if (given === null) return null
  const { offer, sizing } = given
  return {
    instance_type: offer.instanceType,
    gpu_count: offer.gpuCount,
    price_per_hour: offer.pricePerHour,
    context_tokens: sizing.capacity.contextTokens,
    parallel_sequences: sizing.capacity.parallelSequences,
  }
}

export function toPlanBody(
  { result, alternatives }: DeploymentPlan,
  currency: string,
): z.infer<typeof planBody> {
  const selection = result.outcome === 'selected' ? result.selection : null
  const offer = selection?.offer
  return {
    feasible: selection !== null,
    instance_type: offer?.instanceType ?? null,
    gpu_count: offer?.gpuCount ?? null,
    region: offer?.region ?? null,
    price_per_hour: offer?.pricePerHour ?? null,
    currency,
    memory_bytes: result.memoryBytes,
    context_tokens: selection?.sizing.capacity.contextTokens ?? null,
    parallel_sequences: selection?.sizing.capacity.parallelSequences ?? null,
    context_limited_by: selection?.sizing.limitedBy.context ?? null,
    sequences_limited_by: selection?.sizing.limitedBy.sequences ?? null,
    cheaper: toAlternative(alternatives.cheaper),
    larger: toAlternative(alternatives.larger),
    reason: result.outcome === 'selected' ? result.selection.reason : result.reason,
    considered: result.considered.map(({ offer, fits, reason }) => ({
      instance_type: offer.instanceType,
      fits,
      reason,
      price_per_hour: offer.pricePerHour,
    })),
  }
}

export function toPlacementBody({ modelId, variant, result }: Placement): z.infer<typeof placementBody> {
  const selection = result.outcome === 'selected' ? result.selection : null
  const offer = selection?.offer ?? null
  return {
    model_id: modelId,
    model_name: variant.modelName,
    model_format: variant.format,
    model_size_in_billions: variant.sizeInBillions,
    quantization: variant.quantization,
    memory_bytes: result.memoryBytes,
    feasible: offer !== null,
    instance_type: offer?.instanceType ?? null,
    gpu_count: offer?.gpuCount ?? null,
    price_per_hour: offer?.pricePerHour ?? null,
    context_tokens: selection?.sizing.capacity.contextTokens ?? null,
    parallel_sequences: selection?.sizing.capacity.parallelSequences ?? null,
  }
}

export function toEventItem(event: DeploymentEvent): z.infer<typeof eventItem> {
  return { at: event.at.toISOString(), status: event.status, stage: event.stage, message: event.message }
}

export function toLogItem({ at, line }: LogLine): z.infer<typeof logItem> {
  return { at: at.toISOString(), line }
}

export function toDeploymentUsageBody(usage: DeploymentUsage): z.infer<typeof deploymentUsageBody> {
  return {
    requests: usage.requests,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    instance_seconds: usage.instanceSeconds,
    cost: usage.cost,
    currency: usage.currency,
  }
}
