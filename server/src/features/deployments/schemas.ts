import { z } from 'zod'
import {
  count,
  optionalField,
  page,
  pageQuery,
  queryBoolean,
  queryInteger,
  timestamp,
  unicodeText,
} from '../../http/schemas.ts'
import type { LogLine } from '../../ports/model-runtime.ts'
import type { DeploymentUsage } from '../metering/deployment-usage.ts'
import type { DeploymentWishes } from './change-deployment.ts'
import { maxLogLines } from './engine-log.ts'
import type { Alternative } from '../placement/alternatives.ts'
import { deploymentStatuses, waitingReasons } from './lifecycle.ts'
import type { DeploymentPlan, Placement } from '../placement/plan.ts'
import type { CapacityMinimums } from '../placement/serving-capacity.ts'
import type { DeploymentEvent, DeploymentSummary } from './store.ts'
import { findWaitingFor, toStatusMessage } from './waiting.ts'

const choiceText = optionalField(
  unicodeText().trim().min(1, 'Must not be empty. Omit the field to use the default.'),
)

const sizeInBillions = z
  .union(
    [z.number().positive(), z.string().regex(/^(?=.*[1-9])\d{1,6}([._]\d{1,6})?$/)],
    'Enter a size greater than 0, such as 7, 1.5, "1.5" or "1_5".',
  )
  .transform((value) => (typeof value === 'string' ? Number(value.replace('_', '.')) : value))
  .meta({ examples: [7, 1.5, '1.5', '1_5'] })

const minimum = (most: number) => z.int().min(1).max(most).nullable().optional()

const minimums = {
  min_context_tokens: minimum(16_777_216).describe(
    'The longest request that the model must accept, in tokens; null for no minimum. Coding agents need 32768 or more.',
  ),
  min_parallel_sequences: minimum(4096).describe(
    'How many requests the engine must process at the same time; null for no minimum',
  ),
}

export const createDeploymentBody = z
  .strictObject({
    model_name: unicodeText()
      .trim()
      .min(1, 'Enter the name of a catalog model.')
      .describe('Name or id of a catalog model, in any case'),
    model_format: choiceText.describe('Format of the weights, such as `ggufv2`'),
    model_size_in_billions: optionalField(sizeInBillions).describe('Parameters in billions'),
    quantization: choiceText.describe('Quantization of the weights, such as `q4_k_m`'),
    ...minimums,
  })
  .meta({
    id: 'DeploymentRequest',
    description:
      'Berth chooses what the request omits: on GPUs the largest size that fits the cheapest suitable instance type, in a format ' +
      'for them; otherwise what is closest to the default variant of the catalog',
    examples: [
      {
        model_name: 'qwen2.5-instruct',
        model_format: 'ggufv2',
        model_size_in_billions: 0.5,
        quantization: 'q4_k_m',
      },
      { model_name: 'qwen2.5-instruct', min_context_tokens: 32_768 },
    ],
  })

const sharedWith = z
  .enum(['organization'])
  .nullable()
  .describe(
    '`organization`: every member of the organization may call the model while it is their current organization; null: only the owner',
  )

export const changeDeploymentBody = z.object({ ...minimums, shared_with: sharedWith.optional() }).meta({
  id: 'DeploymentChange',
  examples: [{ min_context_tokens: 32_768 }, { shared_with: 'organization' }],
})

/** Omitted fields stay undefined. */
export function toWishes(body: z.infer<typeof changeDeploymentBody>): DeploymentWishes {
  return {
    contextTokens: body.min_context_tokens,
    parallelSequences: body.min_parallel_sequences,
    sharedWith: body.shared_with,
  }
}

export function toMinimums(body: z.infer<typeof createDeploymentBody>): CapacityMinimums {
  return {
    contextTokens: body.min_context_tokens ?? null,
    parallelSequences: body.min_parallel_sequences ?? null,
  }
}

export const deploymentUsageBody = z
  .object({
    requests: count.describe('Answered inference requests'),
    input_tokens: count.describe('Tokens of the requests'),
    output_tokens: count.describe('Tokens of the responses'),
    instance_seconds: z
      .number()
      .describe('From the start of each instance to its release or loss, or to now while it runs'),
    cost: z.string().describe('Total cost so far, a decimal in the main unit of `currency`; not rounded'),
    currency: z.string().describe('Currency of the cost'),
  })
  .meta({ id: 'DeploymentUsage', description: 'Requests, tokens and cost of a deployment so far' })

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
    instance_type: z.string().describe('Name of the instance type'),
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
    .enum(['memory', 'hardware'])
    .nullable()
    .describe(
      'Why no instance type can run the model: all have too little memory, or none has the hardware for its format; null if one can',
    ),
  instance_type: z
    .string()
    .nullable()
    .describe('null, like the other choice fields, when `feasible` is false'),
  gpu_count: count.nullable().describe('0 for a CPU instance'),
  price_per_hour: hourlyPrice,
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
      'The next more expensive instance type with more capacity; null if there is none',
    ),
    reason: z
      .string()
      .describe(
        'Why Berth chose the variant, if the request left it open; the memory estimate, the choice of the instance type, and why ' +
          'others were ruled out',
      ),
    considered: z
      .array(
        z.object({
          instance_type: z.string().describe('Name of the instance type'),
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

export const listDeploymentsQuery = pageQuery.extend({
  scope: z
    .enum(['own', 'organization'])
    .default('own')
    .describe(
      '`organization` lists those of your current organization: all of them for admins, the shared ones for other members',
    ),
  active: queryBoolean(false).describe('true to exclude terminated deployments'),
})

export const logsQuery = z.object({
  tail: queryInteger({ min: 0, max: maxLogLines })
    .optional()
    .describe(`The number of last lines; ${maxLogLines} by default, and 200 for a stream`),
})

export const deploymentParams = z.object({
  deployment_id: z
    .string()
    .describe('Id of a deployment of yours, of a shared one, or for admins of any in the organization'),
})

export const deploymentBody = z
  .object({
    id: z
      .string()
      .meta({ format: 'uuid' })
      .describe('Id of the deployment; also a value for `model` in inference requests'),
    user_id: z.string().describe('The owner'),
    owner: z
      .object({
        user_id: z.string().describe('Id of the person'),
        email: z.string().describe('Email of the person'),
        name: z.string().describe('Name of the person'),
      })
      .describe('The person who asked for the deployment, or to whom it was transferred'),
    organization_id: z.string().describe('The organization that pays'),
    shared_with: sharedWith,
    cluster_id: z
      .string()
      .nullable()
      .describe('The cluster or machine of the instance; null before the instance exists'),
    instance_id: z.string().nullable().describe('Id of the instance at the compute backend'),
    gpu_allocation_id: z
      .string()
      .nullable()
      .describe('Id of the GPUs, or of the host, at the compute backend; null before the instance exists'),
    model_name: z.string().describe('Name of the model'),
    model_format: z.string().describe('Format of the weights'),
    model_size_in_billions: z.number().describe('Parameters in billions'),
    quantization: z.string().describe('Quantization of the weights'),
    inference_model_uid: z.string().describe('Identifier of the model inside the engine'),
    status: z
      .enum(deploymentStatuses)
      .describe('A `running` deployment serves requests; `failed` and `terminated` ones have ended'),
    waiting_for: z
      .enum(waitingReasons)
      .nullable()
      .describe(
        'What the deployment is waiting for: `instance`: the compute backend provides one; `engine`: it starts, or downloads the ' +
          'model; `stop`: a lost engine stops before its restart; `release`: an instance that is too small is released; `runtime`: ' +
          'the compute backend answers again; `retry`: the compute backend returned an error; `resize`: the model serves, and a new ' +
          'minimum takes effect when the engine starts next',
      ),
    status_message: z
      .string()
      .nullable()
      .describe('What the deployment is waiting for, as a sentence for people that may change'),
    progress: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe('Download progress from 0 to 1; null when nothing is downloading or the size is unknown'),
    selected_instance_type: z.string().nullable().describe('null until an instance type is chosen'),
    selection_reason: z
      .string()
      .nullable()
      .describe('Why this instance type was chosen, and the variant, if the request left it open'),
    engine: z
      .object({
        name: z
          .string()
          .meta({ examples: ['vllm', 'llama.cpp', 'embedded'] })
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
    failure_stage: z.string().nullable().describe('The step that failed; null if none did'),
    failure_reason: z.string().nullable().describe('`<code>: <sentence>`'),
    created_at: timestamp.describe('The request of the deployment'),
    updated_at: timestamp.describe('Latest change'),
    terminated_at: timestamp.nullable().describe('null until all resources are released'),
  })
  .meta({ id: 'Deployment', description: 'A model that runs, or is about to run or has run, for its owner' })

export const deploymentsBody = page(deploymentBody).meta({
  id: 'DeploymentPage',
  description: 'A page of deployments, newest first',
})

export const eventItem = z
  .object({
    id: z.int().describe('Grows with each event of a deployment'),
    at: timestamp.describe('Time of the event'),
    status: z.enum(deploymentStatuses).describe('Status from then on'),
    stage: z.string().nullable().describe('Step of the deployment; null if the event belongs to none'),
    message: z.string().describe('A sentence for a person'),
    instance_type: z.string().nullable().describe('The instance type, in events that report its choice'),
  })
  .meta({ id: 'DeploymentEvent', description: 'A change of a deployment' })

export const logItem = z
  .object({
    at: timestamp.describe('Time of the line'),
    line: z.string().describe('The text, without a line break'),
  })
  .meta({ id: 'DeploymentLogLine', description: 'A line of the engine’s log' })

export const eventsBody = z
  .object({ items: z.array(eventItem).describe('The events') })
  .meta({ id: 'DeploymentEvents', description: 'The events of a deployment, oldest first' })

export const logsBody = z
  .object({ items: z.array(logItem).describe('The lines') })
  .meta({ id: 'DeploymentLogs', description: 'The last lines of the engine’s log, oldest first' })

/** Converts what differs from the row. The serializer drops the columns that callers don't see. */
export function toDeploymentBody(
  deployment: DeploymentSummary,
  owner: { name: string; email: string },
): z.infer<typeof deploymentBody> {
  return {
    ...deployment,
    owner: { user_id: String(deployment.user_id), ...owner },
    user_id: String(deployment.user_id),
    organization_id: String(deployment.organization_id),
    waiting_for: findWaitingFor(deployment),
    status_message: toStatusMessage(deployment),
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

function toChoice(result: Placement['result']) {
  const selection = result.outcome === 'selected' ? result.selection : null
  const { offer, sizing } = selection ?? {}
  return {
    feasible: selection !== null,
    obstacle: findObstacle(result),
    instance_type: offer?.instanceType ?? null,
    gpu_count: offer?.gpuCount ?? null,
    price_per_hour: offer?.pricePerHour ?? null,
    memory_bytes: result.memoryBytes,
    weight_bytes: sizing === undefined ? null : Math.ceil(sizing.estimate.weightBytes),
    context_tokens: sizing?.capacity.contextTokens ?? null,
    parallel_sequences: sizing?.capacity.parallelSequences ?? null,
  }
}

function findObstacle({ outcome, considered }: Placement['result']): 'memory' | 'hardware' | null {
  if (outcome === 'selected') return null
  return considered.some(({ isTooSmall }) => isTooSmall) ? 'memory' : 'hardware'
}

function toVariantFields({ format, sizeInBillions, quantization }: Placement['variant']) {
  return { model_format: format, model_size_in_billions: sizeInBillions, quantization }
}

export function toPlanBody(
  { choice: { variant, reason }, result, alternatives }: DeploymentPlan,
  currency: string,
): z.infer<typeof planBody> {
  const selection = result.outcome === 'selected' ? result.selection : null
  const explanation = result.outcome === 'selected' ? result.selection.reason : result.reason
  return {
    ...toVariantFields(variant),
    ...toChoice(result),
    region: selection?.offer.region ?? null,
    currency,
    context_limited_by: selection?.sizing.limitedBy.context ?? null,
    sequences_limited_by: selection?.sizing.limitedBy.sequences ?? null,
    cheaper: toAlternative(alternatives.cheaper),
    larger: toAlternative(alternatives.larger),
    reason: `${reason ?? ''} ${explanation}`.trimStart(),
    considered: result.considered.map(({ offer, fits, reason: why }) => ({
      instance_type: offer.instanceType,
      fits,
      reason: why,
      price_per_hour: offer.pricePerHour,
    })),
  }
}

export function toPlacementBody({ modelId, variant, result }: Placement): z.infer<typeof placementBody> {
  return {
    model_id: modelId,
    model_name: variant.modelName,
    ...toVariantFields(variant),
    ...toChoice(result),
  }
}

export function toEventItem(event: DeploymentEvent): z.infer<typeof eventItem> {
  const { id, at, status, stage, message, instance_type } = event
  return { id, at: at.toISOString(), status, stage, message, instance_type }
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
