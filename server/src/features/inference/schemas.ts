import { z } from 'zod'
import type { PublicError } from '../../http/errors.ts'

const model = z.string().describe("A deployment's id or inference_model_uid, or a model name")

export const chatBody = z
  .looseObject({
    model,
    messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
    stream: z.boolean().nullish(),
  })
  .meta({
    id: 'ChatCompletionRequest',
    description: 'As in OpenAI’s API. Every field except `model` is forwarded to the engine unchanged.',
    examples: [{ model: 'berth-tiny', messages: [{ role: 'user', content: 'Hello!' }], stream: true }],
  })

export const embeddingsBody = z
  .looseObject({ model, input: z.unknown(), encoding_format: z.enum(['float', 'base64']).optional() })
  .meta({
    id: 'EmbeddingsRequest',
    description: 'As in OpenAI’s API. Every field except `model` is forwarded to the engine unchanged.',
    examples: [{ model: 'berth-tiny-embedding', input: ['a ship', 'a harbor'] }],
  })

export const engineResponse = z
  .looseObject({ object: z.string() })
  .describe(
    'The engine’s response; only `model` is replaced by the one of the request. With `stream: true`, server-sent events with one chunk each',
  )

export const modelBody = z
  .object({
    id: z.string().describe('Value for `model` in a request'),
    object: z.literal('model'),
    created: z.int().describe('Unix time in seconds'),
    owned_by: z.string(),
    deployments: z.array(z.string()).describe('Ids of the running deployments that serve the model'),
  })
  .meta({ id: 'Model' })

export const modelsBody = z
  .object({ object: z.literal('list'), data: z.array(modelBody) })
  .meta({ id: 'Models' })

export const modelParams = z.object({
  model: z.string().describe('A model name, a deployment id or an `inference_model_uid`'),
})

export const openAiErrorBody = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
    }),
  })
  .meta({ id: 'OpenAIError', description: 'An error in OpenAI’s shape' })

const types: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

/** Converts an error to OpenAI's shape. A 422 becomes a 400, because OpenAI's API has no 422. */
export function toOpenAiError(error: PublicError): { status: number; body: z.infer<typeof openAiErrorBody> } {
  const status = error.status === 422 ? 400 : error.status
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  return { status, body: { error: { message: error.detail, type, param: null, code: error.code } } }
}
