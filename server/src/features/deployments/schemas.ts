import { z } from 'zod'
import type { ModelRuntimes } from '../../ports/model-runtime.ts'
import { modelTypes } from '../../ports/model-variant.ts'
import type { ModelLora } from '../../ports/model-variant.ts'
import {
  count,
  managedBy,
  page,
  pageQuery,
  queryBoolean,
  queryInteger,
  queryList,
  querySort,
  text,
  timestamp,
  toSearch,
} from '../../http/schemas.ts'
import { findEngine } from '../catalog/engine-choice.ts'
import type { DeploymentUsage } from '../metering/deployment-usage.ts'
import { contextTokens, parallelSequences } from '../placement/schemas.ts'
import {
  alias,
  aliasOrder,
  engineOptions,
  engineVersion,
  managedName,
  policyBody,
  sharedWith,
} from './change-schemas.ts'
import type { AsleepTime } from './changes/asleep-time.ts'
import type { InstanceLoad } from './serving/instance-loads.ts'
import { instancePhases } from './state/instance-lifecycle.ts'
import type { Instance } from './state/instance-store.ts'
import { deploymentStatuses, isActive, waitingReasons } from './state/lifecycle.ts'
import { listOrders } from './state/deployment-list.ts'
import type { DeploymentFilter } from './state/deployment-list.ts'
import { listScopes } from './state/list-scope.ts'
import { referenceScopes } from './state/access-deployment.ts'
import type { DeploymentReference } from './state/access-deployment.ts'
import { hasLora } from './state/resize.ts'
import type { DeploymentSummary } from './state/store.ts'
import { findWaitingFor, toStatusMessage } from './state/waiting.ts'

export const listDeploymentsQuery = pageQuery.extend({
  scope: z
    .enum(listScopes)
    .default('own')
    .describe(
      '`organization` lists those of your current organization: all of them for admins, the shared ones for other members. ' +
        '`callable` lists your own and those shared with your current organization',
    ),
  active: queryBoolean(false).describe('true to exclude terminated deployments'),
  q: text({ min: 0, max: 256 })
    .optional()
    .describe(
      'Occurs in the alias, the name of the model, or the name or email of the owner, or starts the id',
    ),
  status: queryList(z.enum(deploymentStatuses)).optional().describe('Only these statuses; repeatable'),
  owner: queryInteger({ min: 1, max: Number.MAX_SAFE_INTEGER })
    .optional()
    .describe('Only those of this user'),
  sort: querySort(listOrders)
    .default('-created_at')
    .describe(
      'The order, descending with `-`; then from new to old. `name` is the alias, or the model’s name, `requests` the answered ones of 24 ' +
        'hours, `cost` that of this month, if you can see it',
    ),
  counts: queryBoolean(false).describe('true to count the deployments by status, regardless of `status`'),
})

type ListQuery = z.output<typeof listDeploymentsQuery>

export function toFilter({ active, q, status, owner }: ListQuery): DeploymentFilter {
  return { active, search: toSearch(q), statuses: status ?? null, ownerId: owner ?? null }
}

export const deploymentParams = z.object({
  deployment_id: z.string().describe('Id of a deployment'),
})

export const deploymentQuery = z.object({
  scope: z
    .enum(referenceScopes)
    .default('own')
    .describe(
      '`own` answers 404 for deployments of others. `organization` also reaches the shared ones of your organizations, and all of them ' +
        'where you are an admin',
    ),
})

export function toReference(
  { deployment_id: id }: z.infer<typeof deploymentParams>,
  { scope }: z.infer<typeof deploymentQuery>,
): DeploymentReference {
  return { id, scope }
}

const engineFields = {
  name: z.string().meta({
    examples: ['vllm', 'llama.cpp', 'embedded'],
    description: "`embedded` is Berth's own engine over llama.cpp",
  }),
  version: z
    .string()
    .nullable()
    .describe('`0.28.0` for vLLM, `10964` for build b10964 of llama.cpp; null when unknown'),
}

const instanceBody = z
  .object({
    id: z.string().meta({ format: 'uuid', description: 'Id of the instance' }),
    status: z
      .enum(['starting', 'running', 'draining', 'releasing'])
      .describe(
        'A `running` instance has served; its engine may be restarting. A `draining` one finishes its requests and gets no new ones',
      ),
    instance_type: z.string().nullable().describe('null until it is chosen'),
    region: z.string().nullable().describe('null until the instance type is chosen'),
    cluster_id: z.string().nullable().describe('The cluster or machine; null before the hardware exists'),
    instance_id: z.string().nullable().describe('Id of the hardware at the compute backend'),
    gpu_allocation_id: z
      .string()
      .nullable()
      .describe('Id of the GPUs, or of the host, at the compute backend'),
    started_at: timestamp
      .nullable()
      .describe('When the compute backend handed the hardware over; null before'),
    memory_bytes: z.number().nullable().describe('Memory that the model needs there; null until it is known'),
    engine: z.object(engineFields).nullable().describe('null until it is ready, and if it is unknown'),
    in_flight: count.describe('Requests at the engine, and those that wait for it, about a second ago'),
  })
  .meta({ id: 'DeploymentInstance', description: 'One engine of a deployment on its hardware' })

export const deploymentBody = z
  .object({
    id: z.string().meta({
      format: 'uuid',
      description: 'Id of the deployment; also a value for `model` in inference requests',
    }),
    user_id: z.string().describe('The owner'),
    owner: z
      .object({
        user_id: z.string().describe('Id of the person'),
        email: z.string().describe('Email of the person'),
        name: z.string().describe('Name of the person'),
      })
      .describe('The person who created the deployment, or received it in a transfer'),
    organization_id: z.string().describe('The organization that pays'),
    shared_with: sharedWith,
    alias,
    alias_order: aliasOrder,
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
    model_type: z.enum(modelTypes).describe('What the model does: chat, embeddings, or ranking of documents'),
    model_format: z.string().describe('Format of the weights'),
    model_size_in_billions: z.number().describe('Parameters in billions'),
    quantization: z.string().describe('Quantization of the weights'),
    adapters: z
      .array(
        z.object({
          model_id: z.string().describe('Id of the LoRA in the catalog'),
          model_name: z.string().describe('A value for `model` in inference requests'),
          rank: count.describe('The largest rank of its matrices'),
          weight_bytes: count.describe('Size of its files'),
          ready: z.boolean().describe('true if a running instance has it; requests wait for one with a 503'),
        }),
      )
      .describe('The LoRAs (low-rank adapters) that the deployment serves besides its model'),
    inference_model_uid: z.string().describe('Identifier of the model inside the engine'),
    status: z
      .enum(deploymentStatuses)
      .describe(
        'A `running` deployment serves requests; a `sleeping` one has no instance, costs nothing, and is woken by requests; `failed` and ' +
          '`terminated` ones have ended',
      ),
    waiting_for: z
      .enum(waitingReasons)
      .nullable()
      .describe(
        'What the deployment is waiting for: `instance`: the compute backend provides one; `engine`: it starts, or downloads the ' +
          'model; `stop`: a lost engine stops before its restart; `release`: an instance is released; `drain`: requests in flight are finished before that; `runtime`: ' +
          'the compute backend answers again; `retry`: the compute backend returned an error; `resize`: the model serves, and an ' +
          'instance with the changed settings is to take over',
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
    selected_instance_type: z
      .string()
      .nullable()
      .describe('The planned one until it is chosen; null while nothing is known'),
    selection_reason: z
      .string()
      .nullable()
      .describe('Why this instance type was chosen, and the variant, if the request left it open'),
    engine: z
      .object({
        ...engineFields,
        update: z
          .string()
          .nullable()
          .describe('The newest version, if the engine has an older one; else null'),
      })
      .nullable()
      .describe('The engine that serves the model; null until it is ready, and where Xinference chooses it'),
    context_tokens: contextTokens,
    parallel_sequences: parallelSequences,
    policy: policyBody,
    instances: z.array(instanceBody).describe('Those that are not released, oldest first'),
    min_context_tokens: z.int().nullable().describe('The minimum that the owner has set'),
    min_parallel_sequences: z.int().nullable().describe('The minimum that the owner has set'),
    engine_options: engineOptions,
    engine_version: engineVersion,
    managed_by: managedBy,
    managed_name: managedName,
    requested_instance_type: z
      .string()
      .nullable()
      .describe('The only instance type that the owner takes; null for any'),
    failure_stage: z.string().nullable().describe('The step that failed; null if none did'),
    failure_reason: z.string().nullable().describe('`<code>: <sentence>`'),
    created_at: timestamp.describe('The request of the deployment'),
    updated_at: timestamp.describe('Latest change'),
    terminated_at: timestamp.nullable().describe('null until all resources are released'),
  })
  .meta({ id: 'Deployment', description: 'A model that runs, or is about to run or has run, for its owner' })

export const deploymentsBody = page(deploymentBody)
  .extend({
    counts: z
      .partialRecord(z.enum(deploymentStatuses), count)
      .optional()
      .describe('How many deployments have each status, if `counts` asks for it'),
  })
  .meta({ id: 'DeploymentPage', description: 'A page of deployments' })

/** Converts what differs from the row. The serializer drops the columns that callers don't see. */
export function toDeploymentBody(
  deployment: DeploymentSummary,
  owner: { name: string; email: string },
  /** The live ones, oldest first, or the last one */
  instances: readonly Instance[],
  loads: ReadonlyMap<string, InstanceLoad>,
  runtimes: Pick<ModelRuntimes, 'find'>,
): z.infer<typeof deploymentBody> {
  const instance = findShownInstance(deployment, instances)
  return {
    ...deployment,
    ...toHardware(instance),
    ...toSelection(deployment, instance),
    engine: toEngine(deployment, instance, runtimes),
    context_tokens: instance?.context_tokens ?? null,
    parallel_sequences: instance?.parallel_sequences ?? null,
    policy: {
      min_instances: deployment.min_instances,
      max_instances: deployment.max_instances,
      idle_minutes: deployment.idle_minutes,
      yields: deployment.yields,
      cache_scope: deployment.cache_scope,
      target_concurrency: deployment.target_concurrency,
      schedules: deployment.schedules,
    },
    adapters: deployment.adapters.map((lora) => toLoraBody(lora, instances)),
    instances: instances.filter(isLive).map((each) => toInstanceBody(each, loads)),
    owner: { user_id: String(deployment.user_id), ...owner },
    user_id: String(deployment.user_id),
    organization_id: String(deployment.organization_id),
    waiting_for: findWaitingFor(deployment, instance),
    status_message: toStatusMessage(deployment, instance),
    created_at: deployment.created_at.toISOString(),
    updated_at: deployment.updated_at.toISOString(),
    terminated_at: deployment.terminated_at?.toISOString() ?? null,
  }
}

/** The instance that the deployment's fields describe: the oldest live one, or the last one at the end. */
function findShownInstance({ status }: DeploymentSummary, instances: readonly Instance[]): Instance | null {
  // A worker may have chosen hardware since the row of the deployment was read.
  if (status === 'requested') return null
  return instances.find((instance) => isLive(instance) || !isActive(status)) ?? null
}

function toEngine(
  { model_format: format }: DeploymentSummary,
  instance: Instance | null,
  runtimes: Pick<ModelRuntimes, 'find'>,
): z.infer<typeof deploymentBody>['engine'] {
  const engine = instance?.engine ?? null
  if (instance === null || engine === null) return null
  const { engines = [] } = runtimes.find(instance.runtime) ?? {}
  const { versions: [newest] = [], name } = findEngine({ format }, engines) ?? {}
  const isNewer = newest !== undefined && name === engine.name && newest !== engine.version
  return { ...engine, update: isNewer ? newest : null }
}

function toLoraBody(
  { modelId, modelName, rank, weightBytes }: ModelLora,
  instances: readonly Instance[],
): z.infer<typeof deploymentBody>['adapters'][number] {
  const ready = instances.some(
    (instance) => instance.engine_url !== null && instance.status === 'running' && hasLora(instance, modelId),
  )
  return { model_id: modelId, model_name: modelName, rank, weight_bytes: weightBytes, ready }
}

/** Before a worker chooses the hardware: the offer for the deployment's request. */
function toSelection({ status, ...planned }: DeploymentSummary, instance: Instance | null) {
  if (instance?.instance_type != null || (status !== 'requested' && status !== 'provisioning')) {
    return {
      selected_instance_type: instance?.instance_type ?? null,
      selection_reason: instance?.selection_reason ?? null,
    }
  }
  return { selected_instance_type: planned.planned_instance_type, selection_reason: planned.planned_reason }
}

const isLive = ({ status }: Instance) => status !== 'released'

function toHardware(instance: Instance | null) {
  return {
    cluster_id: instance?.cluster_id ?? null,
    instance_id: instance?.instance_id ?? null,
    gpu_allocation_id: instance?.gpu_allocation_id ?? null,
  }
}

function toInstanceBody(
  instance: Instance,
  loads: ReadonlyMap<string, InstanceLoad>,
): z.infer<typeof instanceBody> {
  return {
    id: instance.id,
    status: instancePhases[instance.status],
    instance_type: instance.instance_type,
    region: instance.region,
    ...toHardware(instance),
    started_at: instance.started_at?.toISOString() ?? null,
    memory_bytes: instance.memory_bytes,
    engine: instance.engine,
    in_flight: loads.get(instance.id)?.inFlight ?? 0,
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
    asleep_seconds: z.number().min(0).describe('How long the deployment slept so far'),
    saved: z
      .string()
      .nullable()
      .describe(
        'What its least instances would have cost while it slept, at their present price; null if that is unknown',
      ),
  })
  .meta({ id: 'DeploymentUsage', description: 'Requests, tokens and cost of a deployment so far' })

export function toDeploymentUsageBody(
  usage: DeploymentUsage,
  asleep: AsleepTime,
): z.infer<typeof deploymentUsageBody> {
  return {
    requests: usage.requests,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    instance_seconds: usage.instanceSeconds,
    cost: usage.cost,
    currency: usage.currency,
    asleep_seconds: asleep.seconds,
    saved: asleep.saved,
  }
}
