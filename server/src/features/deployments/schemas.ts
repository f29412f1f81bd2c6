import { z } from 'zod'
import { page, pageQuery, queryBoolean, timestamp, unicodeText } from '../../http/schemas.ts'
import type { LogLine } from '../../ports/model-runtime.ts'
import type { SelectionResult } from './instance-selection.ts'
import { deploymentStatuses } from './lifecycle.ts'
import type { Placement } from './plan.ts'
import type { DeploymentEvent, ShownDeployment } from './store.ts'

const choiceText = unicodeText().trim().min(1, 'Give a name, or leave it out.').optional()

const sizeInBillions = z
  .union(
    [z.number(), z.string().regex(/^\d{1,6}([._]\d{1,6})?$/)],
    'Give a size such as 7, 1.5, "1.5" or "1_5".',
  )
  .transform((value) => (typeof value === 'string' ? Number(value.replace('_', '.')) : value))
  .refine((value) => value > 0, 'Give a size above 0.')
  .meta({ examples: [7, 1.5, '1.5', '1_5'] })

export const createDeploymentBody = z
  .strictObject({
    model_name: unicodeText().trim().min(1, 'Give the name of a model of the catalog.'),
    model_format: choiceText,
    model_size_in_billions: sizeInBillions.optional(),
    quantization: choiceText,
  })
  .meta({
    id: 'DeploymentRequest',
    description: 'What is left out comes from the default variant of the catalog',
    examples: [
      {
        model_name: 'qwen2.5-instruct',
        model_format: 'ggufv2',
        model_size_in_billions: 0.5,
        quantization: 'q4_k_m',
      },
    ],
  })

export function toVariantChoice(body: z.infer<typeof createDeploymentBody>) {
  return {
    modelName: body.model_name,
    format: body.model_format,
    sizeInBillions: body.model_size_in_billions,
    quantization: body.quantization,
  }
}

const hourlyPrice = z.string().nullable().describe('Of an hour in `currency`, a decimal')

const neededMemory = z
  .int()
  .nullable()
  .describe('What weights, caches and the engine need together; null where the runtime offers nothing at all')

export const planBody = z
  .object({
    feasible: z.boolean(),
    instance_type: z.string().nullable().describe('null, as all of the choice, where nothing is feasible'),
    gpu_count: z.int().nullable().describe('0: on a CPU'),
    region: z.string().nullable(),
    price_per_hour: hourlyPrice,
    currency: z.string(),
    memory_bytes: neededMemory,
    reason: z.string().describe('The memory that it needs, the choice, and what was passed over and why'),
    considered: z
      .array(
        z.object({
          instance_type: z.string(),
          fits: z.boolean(),
          reason: z.string(),
          price_per_hour: hourlyPrice,
        }),
      )
      .describe('Every offer: those that fit as they would be tried, then the others'),
  })
  .meta({ id: 'DeploymentPlan' })

export const placementBody = z
  .object({
    model_id: z.string().describe('Of the catalog'),
    model_name: z.string(),
    model_format: z.string(),
    model_size_in_billions: z.number(),
    quantization: z.string(),
    memory_bytes: neededMemory,
    feasible: z.boolean(),
    instance_type: z.string().nullable().describe('null, as all of the choice, where nothing is feasible'),
    gpu_count: z.int().nullable().describe('0: on a CPU'),
    price_per_hour: hourlyPrice,
  })
  .meta({ id: 'Placement' })

export const placementsBody = z
  .object({ currency: z.string(), items: z.array(placementBody) })
  .meta({ id: 'Placements' })

export const listDeploymentsQuery = pageQuery.extend({
  active: queryBoolean(false).describe('true: leave out those that are terminated'),
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
    inference_model_uid: z.string().describe('The name of the model inside the engine'),
    status: z.enum(deploymentStatuses),
    status_message: z.string().nullable().describe('What it is waiting for now'),
    progress: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe(
        'How much of a download is there; null while nothing is downloaded, or its size is not known',
      ),
    selected_instance_type: z.string().nullable(),
    selection_reason: z.string().nullable(),
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

export function toDeploymentBody(deployment: ShownDeployment): z.infer<typeof deploymentBody> {
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
    failure_stage: deployment.failure_stage,
    failure_reason: deployment.failure_reason,
    created_at: deployment.created_at.toISOString(),
    updated_at: deployment.updated_at.toISOString(),
    terminated_at: deployment.terminated_at?.toISOString() ?? null,
  }
}

export function toPlanBody(result: SelectionResult, currency: string): z.infer<typeof planBody> {
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
  const offer = result.outcome === 'selected' ? result.selection.offer : null
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
  }
}

export function toEventItem(event: DeploymentEvent): z.infer<typeof eventItem> {
  return { at: event.at.toISOString(), status: event.status, stage: event.stage, message: event.message }
}

export function toLogItem({ at, line }: LogLine): z.infer<typeof logItem> {
  return { at: at.toISOString(), line }
}
