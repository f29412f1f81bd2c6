import { z } from 'zod'
import { count, optionalField, text, timestamp, unicodeText, url } from '../../http/schemas.ts'
import { modelTypes } from '../../ports/model-variant.ts'
import { readBaseUrl } from './base-url.ts'
import type { CheckedEndpoint, EndpointChanges, EndpointSettings } from './manage-endpoints.ts'
import { guessType, isModelName, maxNameLength } from './read-model-list.ts'
import { listEndpointModels } from './store.ts'
import type { Endpoint } from './store.ts'
import { endpointStatuses } from './tables.ts'

const name = text({ min: 1, max: 100 }).describe(
  'What people call it; unique in the organization, ignoring case',
)

const baseUrl = unicodeText()
  .trim()
  .transform((value, context) => {
    const read = readBaseUrl(value)
    if (read !== null) return read
    const message = 'Must be an https address without credentials and query.'
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
  .describe(
    'An https address with or without `/v1` at its end; http only in networks that the operator allows',
  )
  .meta({ examples: ['https://llm.example.com/v1'] })

const key = z
  .string()
  .regex(/^[\x21-\x7e]{1,2000}$/, 'Enter a key of letters, digits and signs without spaces.')
  .meta({ format: 'password' })

/** Headers that Berth and connections set themselves */
const reserved =
  /^(?:accept|accept-.*|authorization|connection|content-.*|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent)$/i

const header = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'Enter the name of a header, such as api-key.')
  .refine((value) => !reserved.test(value), 'Must be another header.')

const model = z
  .strictObject({
    name: unicodeText()
      .refine(isModelName, `Must be a name of at most ${maxNameLength} visible characters without spaces.`)
      .describe('The name in requests to the endpoint'),
    type: optionalField(z.enum(modelTypes)).describe(
      'What the model does; by default what its name suggests',
    ),
    context_tokens: optionalField(z.int().min(1).max(1e9)).describe('The longest request, in tokens'),
  })
  .transform(({ name: modelName, type, context_tokens: tokens }) => ({
    name: modelName,
    type: type ?? guessType(modelName),
    context_tokens: tokens ?? null,
  }))

const models = z
  .array(model)
  .min(1)
  .max(500)
  .refine(
    (list) => new Set(list.map((each) => each.name)).size === list.length,
    'Must have each name only once.',
  )

const price = z
  .string()
  .regex(
    /^\d{1,6}(\.\d{1,6})?$/,
    'Must be an amount such as 3 or 0.25, with at most 6 digits before and after the point.',
  )

const prices = z.strictObject({
  input: price.describe('For a million tokens of prompts'),
  output: price.describe('For a million generated tokens'),
})

const priceMeaning =
  'What tokens cost at the endpoint, in the currency of the installation. Usage and budgets count it. A change counts from the next hour on'

export const createEndpointBody = z
  .strictObject({
    name,
    base_url: baseUrl,
    key: optionalField(key).describe(
      'The key of the organization there. Berth keeps it encrypted, and never shows it',
    ),
    header: optionalField(header).describe(
      'The header that has the key; by default `Authorization`, with `Bearer`',
    ),
    models: optionalField(models).describe('The models to use; by default all that the endpoint lists'),
    prices: optionalField(prices).describe(priceMeaning),
  })
  .meta({
    id: 'NewEndpoint',
    description: 'A server with OpenAI’s protocol that already runs',
    examples: [{ name: 'Research cluster', base_url: 'https://llm.example.com/v1', key: 'sk-example' }],
  })

export const updateEndpointBody = z
  .strictObject({
    name: name.optional(),
    base_url: baseUrl.optional(),
    key: key.nullish().describe('null to remove it. Another server needs it again'),
    header: header.nullish().describe('null for `Authorization`, with `Bearer`'),
    models: models.nullish().describe('null for all that the endpoint lists'),
    prices: prices.nullish().describe(`${priceMeaning}; null for none`),
  })
  .meta({
    id: 'EndpointUpdate',
    description: 'Changes of an endpoint; omitted fields stay',
    examples: [{ prices: { input: '0.25', output: '2' } }],
  })

// Any other text is a 404.
export const endpointParams = z.object({ endpoint_id: z.string().describe('Id of the endpoint') })

const modelBody = z.object({
  name: z.string().describe('The name in requests to the endpoint'),
  type: z.enum(modelTypes).describe('What the model does: chat, embeddings, or ranking of documents'),
  context_tokens: count.nullable().describe('The longest request, in tokens; null if unknown'),
})

const forAdmins = 'null for members who can not manage models'

export const endpointBody = z
  .object({
    id: z.string().describe('Id of the endpoint'),
    name: z.string().describe('What people call it'),
    base_url: url.nullable().describe(`Its address without \`/v1\`; ${forAdmins}`),
    header: z
      .string()
      .nullable()
      .describe(`The header that has the key; null for \`Authorization\`, and ${forAdmins}`),
    has_key: z.boolean().nullable().describe(`Whether Berth keeps a key for it; ${forAdmins}`),
    status: z
      .enum(endpointStatuses)
      .describe(
        'What the last check found. `unreachable`: no answer, or not now. `refused`: it rejects the key. `invalid`: what answers does not speak OpenAI’s protocol',
      ),
    status_message: z
      .string()
      .nullable()
      .describe(`Why the check failed, as a sentence; null if it did not, and ${forAdmins}`),
    checked_at: timestamp.describe('When it was checked last'),
    models: z.array(modelBody).describe('The models that it serves for the organization'),
    prices: prices.nullable().describe(`${priceMeaning}; null without any`),
    created_at: timestamp.describe('When it was added'),
  })
  .meta({ id: 'Endpoint', description: 'A server with OpenAI’s protocol that Berth uses and does not run' })

export const endpointsBody = z
  .object({ items: z.array(endpointBody).describe('By name') })
  .meta({ id: 'Endpoints', description: 'The endpoints of an organization' })

export const endpointCheckBody = z
  .object({
    endpoint: endpointBody,
    listed: count.nullable().describe('How many models the endpoint lists; null if it gave no list'),
    answer: z
      .object({
        asked: z.string().describe('The model of the request'),
        model: z
          .string()
          .nullable()
          .describe('The model that the endpoint names in its response; null if it names none'),
        milliseconds: count.describe('Time to the complete response'),
        input_tokens: count.nullable().describe('As the endpoint counts; null if it does not'),
        output_tokens: count.nullable().describe('As the endpoint counts; null if it does not'),
      })
      .nullable()
      .describe('The response to a request for one token; null without one'),
  })
  .meta({ id: 'EndpointCheck', description: 'What a check of an endpoint found' })

export function toSettings(body: z.output<typeof createEndpointBody>): EndpointSettings {
  return {
    name: body.name,
    baseUrl: body.base_url,
    key: body.key ?? null,
    header: body.header ?? null,
    models: body.models ?? null,
    prices: body.prices ?? null,
  }
}

export function toChanges({ base_url, ...body }: z.output<typeof updateEndpointBody>): EndpointChanges {
  const { name: newName, key: newKey, header: newHeader, models: newModels, prices: newPrices } = body
  return {
    name: newName,
    baseUrl: base_url,
    key: newKey,
    header: newHeader,
    models: newModels,
    prices: newPrices,
  }
}

/** `isManager`: whether the viewer may see how the endpoint is reached. */
export function toEndpointBody(endpoint: Endpoint, isManager: boolean): z.input<typeof endpointBody> {
  return {
    id: endpoint.id,
    name: endpoint.name,
    base_url: isManager ? endpoint.base_url : null,
    header: isManager ? endpoint.header : null,
    has_key: isManager ? endpoint.key !== null : null,
    status: endpoint.status,
    status_message: isManager ? endpoint.status_message : null,
    checked_at: endpoint.checked_at.toISOString(),
    models: listEndpointModels(endpoint),
    prices: endpoint.prices,
    created_at: endpoint.created_at.toISOString(),
  }
}

export function toCheckBody({ endpoint, finding }: CheckedEndpoint): z.input<typeof endpointCheckBody> {
  const { listed, answer } = finding
  return {
    endpoint: toEndpointBody(endpoint, true),
    listed: listed === null ? null : listed.length,
    answer: answer && {
      asked: answer.asked,
      model: answer.model,
      milliseconds: answer.milliseconds,
      input_tokens: answer.inputTokens,
      output_tokens: answer.outputTokens,
    },
  }
}
