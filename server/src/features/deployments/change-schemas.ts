import { z } from 'zod'
import { entityId, managedBy, optionalField, text, unicodeText } from '../../http/schemas.ts'
import type { Requirements } from '../placement/choose-instance.ts'
import type { DeploymentUpdate } from './changes/deployment-update.ts'
import type { SharedWith } from './state/shared-with.ts'
import { cacheScopes } from './state/tables.ts'
import { findScheduleError } from './scaling/schedules.ts'
import type { ScheduleError } from './scaling/schedules.ts'

const choiceText = optionalField(
  unicodeText().trim().min(1, 'Must not be empty. Omit the field to use the default.'),
)

const sizeInBillions = z
  .union(
    [z.number().nonnegative(), z.string().regex(/^\d{1,6}([._]\d{1,6})?$/)],
    'Enter a size, such as 7, 1.5, "1.5" or "1_5".',
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

const optionName = /^[a-z0-9][a-z0-9-]{0,63}$/

/** Bounded options of an engine. Their names and values depend on the engine, which the use cases know. */
export const engineOptions = z
  .record(
    z.string().regex(optionName, 'Use the name of an option, without leading dashes'),
    z.union([text({ min: 1, max: 2_000 }), z.number(), z.boolean()]),
  )
  .refine((options) => Object.keys(options).length <= 32, 'At most 32 options')
  .describe(
    'Options of the engine’s command line, without leading dashes. Only admins may set them. Options with addresses, keys, files, code, ' +
      'capacity and memory are Berth’s own',
  )
  .meta({ examples: [{ 'kv-cache-dtype': 'fp8', 'enable-prefix-caching': false }] })

export const engineVersion = text({ min: 1, max: 64 })
  .nullable()
  .describe('The version of the engine that instances have; null: the newest one at each start')

export const alias = z
  .string()
  .regex(
    /^[A-Za-z0-9._:/-]{1,128}$/,
    'Use 1 to 128 letters without accents, digits or the characters . _ : / -',
  )
  .nullable()
  .describe(
    'A further value for `model` in inference requests, which goes before model names; null for none. No name of another model, ' +
      'LoRA or deployment. Of several deployments with the same alias, the least busy running one serves a request, unless `alias_order` says more',
  )

export const aliasOrder = z
  .int()
  .min(1)
  .max(1000)
  .nullable()
  .describe(
    'The place among the deployments with the same alias; null: after those with an order. Requests by the alias go to the lowest order that ' +
      'can serve, and to the next one if all of it is full, asleep for longer than they wait, failed or away',
  )

export const managedName = text({ min: 1, max: 128 })
  .nullable()
  .describe(
    'Which deployment of the file of `managed_by` it is; null: the one that is called like its alias. It ends with `managed_by`',
  )

export const createDeploymentBody = z
  .strictObject({
    model_name: unicodeText()
      .trim()
      .min(1, 'Enter the name of a catalog model.')
      .describe('Name or id of a catalog model, in any case'),
    model_format: choiceText.describe('Format of the weights, such as `ggufv2`'),
    model_size_in_billions: optionalField(sizeInBillions).describe(
      'Parameters in billions; 0 if it is unknown',
    ),
    quantization: choiceText.describe('Quantization of the weights, such as `q4_k_m`'),
    ...minimums,
    instance_type: choiceText.describe('The only instance type that may serve, such as `local-cpu`'),
    alias: alias.optional(),
    engine_options: engineOptions.optional(),
    managed_by: managedBy.optional(),
    managed_name: managedName.optional(),
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

export function toRequirements(body: z.infer<typeof createDeploymentBody>): Requirements {
  return {
    contextTokens: body.min_context_tokens ?? null,
    parallelSequences: body.min_parallel_sequences ?? null,
    instanceType: body.instance_type ?? null,
  }
}

export function toVariantChoice(body: z.infer<typeof createDeploymentBody>) {
  return {
    modelName: body.model_name,
    format: body.model_format,
    sizeInBillions: body.model_size_in_billions,
    quantization: body.quantization,
  }
}

const sharees = z.array(entityId).max(100)

export const sharedWith = z
  .union([
    z.enum(['organization']),
    z.object({
      teams: sharees.default([]).describe('Ids of teams of the organization'),
      members: sharees.default([]).describe('User ids of members of the organization'),
    }),
  ])
  .nullable()
  .describe(
    'Who may call the model while the organization is their current one. `organization`: every member; an object: these teams and members; null: only the owner',
  )

const schedule = z
  .object({
    cron: z.string().describe('Five fields: minute, hour, day of the month, month, day of the week'),
    time_zone: z.string().describe('An IANA time zone, such as `Europe/Berlin`'),
    min_instances: z
      .int()
      .min(0)
      .max(100)
      .describe(
        'Takes the place of the policy’s from then on. 0 lets the deployment sleep, after five minutes without a request if `idle_minutes` is null; ' +
          'more wakes it and keeps it awake',
      ),
  })
  .superRefine(({ cron, time_zone: timeZone }, context) => {
    const error = findScheduleError({ cron, timeZone })
    if (error === null) return
    const path = [error === 'time_zone' ? 'time_zone' : 'cron']
    context.addIssue({ code: 'custom', path, message: scheduleErrors[error] })
  })
  .meta({ id: 'DeploymentSchedule', description: 'The least instances from each time that a pattern names' })

const scheduleErrors = {
  cron: 'Must be a cron pattern with five fields, such as `0 8 * * MON-FRI`',
  never: 'Must name a time that exists',
  time_zone: 'Must be an IANA time zone, such as `Europe/Berlin`',
} as const satisfies Record<ScheduleError, string>

const policyFields = {
  min_instances: z.int().min(1).max(100).describe('How many instances to keep while the deployment is awake'),
  max_instances: z
    .int()
    .min(1)
    .max(100)
    .describe(
      'The most instances; not less than `min_instances`. The limit of active deployments counts them',
    ),
  idle_minutes: z
    .int()
    .min(1)
    .max(10_080)
    .nullable()
    .describe('The deployment falls asleep after so many minutes without a request; null: never by itself'),
  yields: z
    .boolean()
    .describe('Whether the deployment may be put to sleep early when another one needs its hardware'),
  cache_scope: z
    .enum(cacheScopes)
    .describe(
      'Whose requests share the cached beginnings of prompts. With `organization`, the time to the first token may tell members that a ' +
        'colleague sent the same beginning. With `member`, it tells nothing, and shared instructions are processed for each person',
    ),
  target_concurrency: z
    .int()
    .min(1)
    .max(4096)
    .nullable()
    .describe('Requests in flight per instance to aim for; null: 80 % of `parallel_sequences`'),
  schedules: z
    .array(schedule)
    .max(10)
    .describe(
      'From each time that one of them names until the next, its `min_instances` counts. Without any, the policy’s does',
    ),
}

export const policyBody = z
  .object(policyFields)
  .meta({ id: 'DeploymentPolicy', description: 'How many instances a deployment has, and when it sleeps' })

export const updateDeploymentBody = z
  .object({
    ...minimums,
    ...z.object(policyFields).partial().shape,
    shared_with: sharedWith.optional(),
    alias: alias.optional(),
    alias_order: aliasOrder.optional(),
    engine_options: engineOptions.optional(),
    engine_version: engineVersion.optional(),
    managed_by: managedBy.optional(),
    managed_name: managedName.optional(),
    adapters: z
      .array(text({ min: 1, max: 128 }))
      .max(32)
      .optional()
      .describe(
        'Ids of the LoRAs (low-rank adapters) in the catalog that the deployment serves from now on. Requests name one by its model name, or as `base:adapter`',
      ),
  })
  .meta({
    id: 'DeploymentUpdate',
    examples: [
      { min_context_tokens: 32_768 },
      { idle_minutes: 30 },
      { shared_with: 'organization' },
      { alias: 'team-chat', alias_order: 1 },
      { adapters: [] },
      { engine_options: { 'kv-cache-dtype': 'fp8' } },
      { engine_version: '0.33.0' },
    ],
  })

function sortSharees(sharedWith: SharedWith): SharedWith {
  if (sharedWith === 'organization') return sharedWith
  const sort = (ids: readonly number[]) => [...new Set(ids)].toSorted((one, other) => one - other)
  return { teams: sort(sharedWith.teams), members: sort(sharedWith.members) }
}

/** Omitted fields stay undefined. */
export function toUpdate(body: z.infer<typeof updateDeploymentBody>): DeploymentUpdate {
  return {
    contextTokens: body.min_context_tokens,
    parallelSequences: body.min_parallel_sequences,
    sharedWith: body.shared_with && sortSharees(body.shared_with),
    alias: body.alias,
    aliasOrder: body.alias_order,
    adapters: body.adapters,
    engineOptions: body.engine_options,
    engineVersion: body.engine_version,
    managedBy: body.managed_by,
    managedName: body.managed_name,
    policy: {
      min_instances: body.min_instances,
      max_instances: body.max_instances,
      idle_minutes: body.idle_minutes,
      yields: body.yields,
      cache_scope: body.cache_scope,
      target_concurrency: body.target_concurrency,
      schedules: body.schedules,
    },
  }
}
