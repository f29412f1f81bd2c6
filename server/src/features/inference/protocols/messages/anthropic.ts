import { z } from 'zod'
import type { TokenUsage } from '../../../metering/token-usage.ts'
import { toTokenUsage } from '../usage.ts'
import type { ErrorFormat, JsonObject } from '../protocol.ts'

// What the routes of Anthropic's API share.

const anthropicErrorBody = z
  .object({
    type: z.literal('error').describe('Always `error`'),
    error: z
      .object({
        type: z.string().describe('Class of the error, such as `invalid_request_error`'),
        message: z.string().describe('What happened, for a person'),
      })
      .describe('The error'),
    request_id: z.string().describe('Also in the headers `request-id` and `x-request-id`'),
  })
  .meta({ id: 'AnthropicError', description: 'An error in Anthropic’s shape' })

const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

/** Errors in Anthropic's shape. A 422 becomes a 400, because Anthropic's API has no 422. */
export const anthropicErrors: ErrorFormat = {
  body: anthropicErrorBody,
  compose({ status: given, detail }, requestId) {
    const status = given === 422 ? 400 : given
    const type = errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
    const body: z.infer<typeof anthropicErrorBody> = {
      type: 'error',
      error: { type, message: detail },
      request_id: requestId,
    }
    return { status, body }
  },
  requestIdHeader: 'request-id',
  toEvent: (body) => ({ name: 'error', data: body as JsonObject }),
  isOwn(body) {
    const { type, error } = (body ?? {}) as { type?: unknown; error?: { message?: unknown } | null }
    return type === 'error' && typeof error?.message === 'string'
  },
}

export const anthropicUsageBody = z.looseObject({
  input_tokens: z.int().describe('Tokens of the request that the engine had not cached'),
  output_tokens: z.int().describe('Tokens of the response'),
  cache_read_input_tokens: z.int().nullish().describe('Tokens of the request that the engine had cached'),
})

/** Reads the usage of a message. Anthropic counts cached tokens apart from the others. */
export function readAnthropicUsage(usage: Readonly<Record<string, unknown>>): TokenUsage | null {
  const read = toCount(usage['cache_read_input_tokens'])
  const created = toCount(usage['cache_creation_input_tokens'])
  const input = usage['input_tokens'] ?? 0
  return toTokenUsage(
    typeof input === 'number' ? input + read + created : input,
    usage['output_tokens'] ?? 0,
    read,
  )
}

function toCount(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** The usage of a message. */
export function toAnthropicUsage(usage: TokenUsage | null) {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0 } = usage ?? {}
  return {
    input_tokens: inputTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
  }
}
