import { z } from 'zod'

const longest = 100
const name = z.string().min(1).max(longest)
const email = z.string().min(1).max(320)

const budget = z
  .strictObject({
    monthly_limit: z
      .union([z.string(), z.number()])
      .transform(String)
      .pipe(z.string().regex(/^\d{1,12}(\.\d{1,6})?$/, 'Write an amount, such as 250 or 99.95.'))
      .describe('The most that a billing period may cost, in the currency of the account'),
    at_limit: z
      .enum(['notify', 'block', 'sleep'])
      .default('notify')
      .describe('What happens at the limit besides the emails'),
  })
  .describe('A limit of what a billing period may cost')

const schedule = z.strictObject({
  cron: z.string().describe('Minute, hour, day of the month, month, day of the week'),
  time_zone: z.string().describe('An IANA time zone, such as Europe/Berlin'),
  min_instances: z.int().min(0).max(100).describe('How many instances to keep awake from then on'),
})

const policy = z
  .strictObject({
    min_instances: z.int().min(1).max(100).default(1).describe('Instances to keep while it is awake'),
    max_instances: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe('The most instances under load; by default min_instances'),
    idle_minutes: z
      .int()
      .min(1)
      .max(10_080)
      .nullable()
      .optional()
      .describe('Sleep after so many minutes without a request; null: never. An absent one changes nothing'),
    yields: z.boolean().default(false).describe('Sleep early when another deployment needs the hardware'),
    cache_scope: z
      .enum(['member', 'organization'])
      .default('organization')
      .describe('Whose requests share the cached beginnings of prompts'),
    target_concurrency: z
      .int()
      .min(1)
      .max(4096)
      .nullable()
      .default(null)
      .describe('Requests in flight per instance to aim for'),
    schedules: z.array(schedule).max(10).default([]).describe('Times that change min_instances'),
  })
  .describe('How many instances a deployment has, and when it sleeps')

const sharees = z
  .strictObject({
    teams: z
      .array(z.union([name, z.int().min(1)]))
      .max(longest)
      .default([])
      .describe('Names of teams; ids of those that you don’t see'),
    members: z.array(email).max(longest).default([]).describe('Emails of members of the organization'),
  })
  .refine(({ teams, members }) => teams.length + members.length > 0, 'Name a team or a member, or use null.')

const alias = z.string().regex(/^[A-Za-z0-9._:/-]{1,128}$/)

const deployment = z
  .strictObject({
    alias: alias
      .nullable()
      .optional()
      .describe(
        'The name in requests; by default that of the deployment. null: none. Several may have the same',
      ),
    alias_order: z
      .int()
      .min(1)
      .max(1000)
      .nullable()
      .default(null)
      .describe('The place among the deployments with the same alias; null: after those with an order'),
    model: z.string().min(1).describe('Name of a model of the catalog'),
    format: z
      .string()
      .min(1)
      .optional()
      .describe('Format of the weights; another one replaces the deployment'),
    size: z
      .union([
        z.number().positive(),
        z.string().regex(/^\d{1,6}([._]\d{1,6})?[bB]?$/, 'Write a size, such as 7B.'),
      ])
      .transform((size) =>
        typeof size === 'string' ? Number(size.replace(/b$/i, '').replace('_', '.')) : size,
      )
      .optional()
      .describe('Parameters in billions, such as 7 or 0.5B; another one replaces the deployment'),
    quantization: z
      .string()
      .min(1)
      .optional()
      .describe('Quantization of the weights; another one replaces the deployment'),
    instance_type: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('The only instance type that may serve; another one replaces the deployment'),
    min_context_tokens: z.int().min(1).nullable().default(null).describe('The longest request to accept'),
    min_parallel_sequences: z.int().min(1).nullable().default(null).describe('Requests to process at once'),
    loras: z.array(z.string().min(1)).max(32).default([]).describe('Names of the LoRAs to serve'),
    engine_options: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .default({})
      .describe('Options of the engine without leading dashes; only admins may set them'),
    engine_version: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('The only version of the engine; null: the newest at each start'),
    shared_with: z
      .union([z.literal('organization'), sharees])
      .nullable()
      .default(null)
      .describe('Who may call it: everybody in the organization, some teams and members, or only the owner'),
    policy: policy.prefault({}),
  })
  .refine((each) => each.alias !== null || each.alias_order === null, {
    path: ['alias_order'],
    message: 'Needs an alias.',
  })
  .describe('A deployment by its name, which says which one it is')

const team = z
  .strictObject({
    members: z.array(email).optional().describe('Emails of all its members. An absent list changes nothing'),
  })
  .describe('A team by its name')

const model = z
  .strictObject({
    repository: z
      .string()
      .regex(/^[\w.-]+\/[\w.-]+$/, 'Write owner/name.')
      .optional()
      .describe(
        'A repository of the Hugging Face Hub, as owner/name. Without it, somebody has to upload the model before',
      ),
    revision: z
      .string()
      .min(1)
      .optional()
      .describe('A commit, a branch or a tag, which an import reads once'),
    base: z.string().min(1).optional().describe('For a LoRA, the model that it changes'),
  })
  .refine(({ repository, revision, base }) => repository !== undefined || (revision ?? base) === undefined, {
    path: ['repository'],
    message: 'Name the repository of the revision and the base.',
  })
  .describe('A model of your own by its name')

/** What `berth apply` brings about. A section that the file omits doesn't change. */
export const fileSchema = z
  .strictObject({
    name: name.describe(
      'What marks the things that this file makes; files of the same organization need different ones',
    ),
    models: z.record(z.string().regex(/^[A-Za-z0-9][\w.-]{0,127}$/), model).default({}),
    teams: z.record(name, team).default({}),
    deployments: z
      .record(alias, deployment)
      .transform((deployments) =>
        Object.fromEntries(
          Object.entries(deployments).map(([key, { alias: given = key, ...each }]) => [
            key,
            { ...each, alias: given },
          ]),
        ),
      )
      .prefault({}),
    budgets: z
      .strictObject({
        organization: budget.optional(),
        teams: z.record(name, budget).default({}).describe('By the name of a team'),
        members: z.record(email, budget).default({}).describe('By email'),
        deployments: z
          .record(z.string(), budget)
          .default({})
          .describe('By the name of a deployment of this file'),
      })
      .prefault({})
      .describe('Limits of what a billing period may cost'),
  })
  .describe('What `berth apply` brings about')

/** A file, with its defaults. */
export type FileContent = z.output<typeof fileSchema>
/** A file as people write it. */
export type FileInput = z.input<typeof fileSchema>
export type WantedDeployment = FileContent['deployments'][string]
export type WantedBudget = z.output<typeof budget>

/** The JSON Schema of the file, for editors. */
export function makeJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(fileSchema, { io: 'input' })
}
