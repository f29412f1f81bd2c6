import { z } from 'zod'
import type { TokenUsage } from '../../metering/token-usage.ts'
import { toTokenUsage } from './usage.ts'
import type { ErrorFormat, JsonObject } from './protocol.ts'

// What the routes of OpenAI's API share.

export const modelField = z
  .string()
  .describe("A deployment's id, inference_model_uid or alias, or a model name")

export const modelOfResponse = z
  .string()
  .describe('The engine’s name of the model, or the `model` of the request where Berth translates the answer')

export const forwardedFields =
  'As in OpenAI’s API. Every field except `model` is forwarded to the engine unchanged, which validates it.'

export const responseOfEngine = 'The engine’s response, in OpenAI’s shape'

export const usageBody = z.looseObject({
  prompt_tokens: z.int().describe('Tokens of the request'),
  completion_tokens: z.int().optional().describe('Tokens of the response'),
  total_tokens: z.int().describe('The sum'),
})

/** Reads the usage of a chat, a completion or embeddings. */
export function readOpenAiUsage(usage: Readonly<Record<string, unknown>>): TokenUsage | null {
  const details = usage['prompt_tokens_details'] as { cached_tokens?: unknown } | null | undefined
  const { prompt_tokens: input, completion_tokens: output = 0, total_tokens: total } = usage
  // Some engines tell only the sum.
  const rest = typeof total === 'number' ? total - Number(output ?? 0) : 0
  return toTokenUsage(input ?? rest, output ?? 0, details?.cached_tokens)
}

export const openAiErrorBody = z
  .object({
    error: z
      .object({
        message: z.string().describe('What happened, for a person'),
        type: z.string().describe('Class of the error, such as `invalid_request_error`'),
        param: z.string().nullable().describe('The invalid field, if it is known'),
        code: z.string().nullable().describe('A code of the response’s list, or one of the engine'),
        fallbacks: z
          .array(
            z.object({
              deployment_id: z.string().describe('Id of the deployment'),
              alias_order: z.int().nullable().describe('Its order; null for one after all orders'),
              code: z.string().describe('Why it could not serve the request'),
            }),
          )
          .optional()
          .describe('The further deployments of the alias that were tried'),
      })
      .describe('The error'),
  })
  .meta({ id: 'OpenAIError', description: 'An error in OpenAI’s shape' })

/** The usage in OpenAI's shape. */
export function toOpenAiUsage({ inputTokens, outputTokens, cachedTokens = 0 }: TokenUsage): JsonObject {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  }
}

const errorTypes: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

/** Errors in OpenAI's shape. A 422 becomes a 400, because OpenAI's API has no 422. */
export const openAiErrors: ErrorFormat = {
  body: openAiErrorBody,
  compose({ status: given, code, detail, facts }) {
    const status = given === 422 ? 400 : given
    const type = errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
    const param = typeof facts?.['param'] === 'string' ? facts['param'] : null
    const fallbacks = facts?.['fallbacks'] as z.infer<typeof openAiErrorBody>['error']['fallbacks']
    const error = { message: detail, type, param, code, ...(fallbacks !== undefined && { fallbacks }) }
    const body: z.infer<typeof openAiErrorBody> = { error }
    return { status, body }
  },
}
