import { z } from 'zod'
import type { PublicError } from '../../http/errors.ts'

const model = z.string().describe("A deployment's id, its inference_model_uid, or the name of its model")

export const chatBody = z
  .looseObject({
    model,
    messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
    stream: z.boolean().optional(),
  })
  .meta({
    id: 'ChatCompletionRequest',
    description: 'As in OpenAI’s API; every field but `model` goes to the engine unchanged',
    examples: [{ model: 'berth-tiny', messages: [{ role: 'user', content: 'Hello!' }], stream: true }],
  })

export const embeddingsBody = z
  .looseObject({ model, input: z.unknown(), encoding_format: z.enum(['float', 'base64']).optional() })
  .meta({
    id: 'EmbeddingsRequest',
    description: 'As in OpenAI’s API; every field but `model` goes to the engine unchanged',
    examples: [{ model: 'berth-tiny-embedding', input: ['a ship', 'a harbour'] }],
  })

export const engineAnswer = z
  .looseObject({ object: z.string() })
  .describe('The engine’s answer as it is; with `stream` server-sent events of chunks')

export const modelsBody = z
  .object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        id: z.string().describe('What a request’s `model` names'),
        object: z.literal('model'),
        created: z.int().describe('Seconds since 1970'),
        owned_by: z.string(),
        deployments: z.array(z.string()).describe('The running deployments that share the requests'),
      }),
    ),
  })
  .meta({ id: 'Models' })

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

/** An error in OpenAI's shape; what would be a 422 elsewhere is a 400 here. */
export function toOpenAiError(seen: PublicError): { status: number; body: z.infer<typeof openAiErrorBody> } {
  const status = seen.status === 422 ? 400 : seen.status
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  return { status, body: { error: { message: seen.detail, type, param: null, code: seen.code } } }
}
