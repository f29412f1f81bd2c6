import type { TokenUsage } from '../../../metering/token-usage.ts'
import type { ReadBody } from '../body-edits.ts'
import { readUsageAt, toTokenUsage } from '../usage.ts'
import { chatCompletions } from '../chat-completions.ts'
import { refuseField } from '../fields.ts'
import { openAiErrors } from '../openai.ts'
import type { ErrorFormat, JsonObject, Protocol, Translation } from '../protocol.ts'
import { ChatStream } from '../chat-stream.ts'
import { scattersSystemTexts } from '../system-texts.ts'
import { ResponseEvents } from './response-events.ts'
import { responseEvent, responseObject, responseRequest } from './schemas.ts'
import { responseSources, toChat } from './to-chat.ts'
import { toEcho, toResponse } from './to-response.ts'
import { toChatTools } from './tools-to-chat.ts'

const asChat: Translation = {
  via: chatCompletions,
  sources: responseSources,
  translate(request, deployment) {
    if (request['prompt'] !== undefined && request['prompt'] !== null) {
      throw refuseField(
        'prompt',
        'names a stored prompt, and Berth stores none. Send its text as `instructions`.',
      )
    }
    const { top_logprobs: logprobs } = request
    if (logprobs !== undefined && logprobs !== null && logprobs !== 0) {
      throw refuseField(
        'top_logprobs',
        'is not supported here. `/v1/chat/completions` has log-probabilities.',
      )
    }
    const { members, functions, paths } = toChatTools(request)
    const facts = { echo: toEcho(request), functions }
    const chat = toChat(request, deployment)
    return {
      body: { ...chat.body, ...members },
      answers: {
        paths: new Map([...chat.paths, ...paths]),
        toBody: (answer) => toResponse(answer, facts),
        openEvents: () => new ChatStream(new ResponseEvents(facts)),
      },
    }
  },
}

/** OpenAI's SDKs throw the error of an event with `error`; other readers know the event `error`. */
const responseErrors: ErrorFormat = {
  ...openAiErrors,
  toEvent(body) {
    const { error } = (body ?? {}) as { error?: unknown }
    const { code, message, param } = (error ?? {}) as JsonObject
    const data = { type: 'error', sequence_number: 0, code, message, param: param ?? null, error }
    return { name: 'error', data }
  },
}

/** Members that need stored responses, which neither Berth nor its engines have */
const stateMembers = ['previous_response_id', 'conversation', 'background']

function refuseState({ values }: ReadBody): [] {
  for (const name of stateMembers) {
    const value = values[name]
    if (value === undefined || value === null || value === false) continue
    throw refuseField(
      name,
      'needs stored responses, and Berth stores none. Send the whole conversation as `input`.',
    )
  }
  return []
}

/** Reads the usage of a response. */
function readResponseUsage(usage: Readonly<Record<string, unknown>>): TokenUsage | null {
  const details = usage['input_tokens_details'] as { cached_tokens?: unknown } | null | undefined
  return toTokenUsage(usage['input_tokens'] ?? 0, usage['output_tokens'] ?? 0, details?.cached_tokens)
}

/** OpenAI's responses, without state. */
export const responses: Protocol = {
  path: '/v1/responses',
  enginePath: '/v1/responses',
  route: 'responses',
  translations: [asChat],
  description: {
    operationId: 'createResponse',
    summary: 'Get a response of a deployed model',
    request: responseRequest,
    response: responseObject,
    events: {
      data: responseEvent,
      note: 'The last event is `response.completed`, `.incomplete` or `.failed`.',
    },
  },
  operation: 'chat',
  modelTypes: ['LLM'],
  members: ['background', 'conversation', 'previous_response_id'],
  unparsed: ['instructions'],
  messages: 'input',
  input: { member: 'input', mayBeText: true },
  prefersTranslation: (body) => scattersSystemTexts(body, 'input', body.values['instructions'] === 'text'),
  outputLimits: ['max_output_tokens'],
  edit: refuseState,
  countedAt: null,
  bodies: { usageAt: ['usage'], readUsage: readResponseUsage, openRewriter: () => null },
  events: {
    counted: {},
    countMark: 'usage"',
    readUsage: (event) => readUsageAt(event, ['response', 'usage'], readResponseUsage),
    chunkMark: '.delta"',
    isEmptyChunk: null,
    openChoices: () => null,
    openRemoval: () => null,
    end: {
      complete: ['response.completed"', 'response.incomplete"', 'response.failed"'],
      failed: ['"type":"error"', '"type": "error"'],
      errors: responseErrors,
    },
  },
  errors: responseErrors,
}
