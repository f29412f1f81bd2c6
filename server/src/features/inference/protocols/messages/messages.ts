import type { TokenUsage } from '../../../metering/token-usage.ts'
import type { ReadBody } from '../body-edits.ts'
import { readUsageAt } from '../usage.ts'
import { anthropicMedia } from '../media-formats.ts'
import { chatCompletions } from '../chat-completions.ts'
import type { Protocol, Translation } from '../protocol.ts'
import { scattersSystemTexts } from '../system-texts.ts'
import { anthropicErrors, readAnthropicUsage } from './anthropic.ts'
import { ChatStream } from '../chat-stream.ts'
import { MessageEvents } from './message-events.ts'
import { messageBody, messageEvent, messageResponse } from './schemas.ts'
import { messageSources, toChat, wantsThoughts } from './to-chat.ts'
import { toMessage } from './to-message.ts'
import { hasHostedTools } from './tools-to-chat.ts'

const asChat: Translation = {
  via: chatCompletions,
  sources: messageSources,
  translate(request, deployment) {
    const facts = { model: String(request['model']), wantsThoughts: wantsThoughts(request) }
    const { body, paths } = toChat(request, deployment)
    return {
      body,
      answers: {
        paths,
        toBody: (answer) => toMessage(answer, facts),
        openEvents: () => new ChatStream(new MessageEvents(facts)),
      },
    }
  },
}

/** The first event has the tokens of the request, a late one those of the answer. */
function readEventUsage(event: unknown): Partial<TokenUsage> | null {
  const started = readUsageAt(event, ['message', 'usage'], readAnthropicUsage)
  if (started !== null) return { inputTokens: started.inputTokens, cachedTokens: started.cachedTokens }
  const usage = readUsageAt(event, ['usage'], readAnthropicUsage)
  if (usage === null || usage.inputTokens > 0) return usage
  return { outputTokens: usage.outputTokens }
}

/** Whether a request has the schema of a structured answer, which some engines ignore. */
function hasFormat({ bytes, members }: ReadBody): boolean {
  return members.some(({ name, start, end }) => {
    if (name === 'output_format') return bytes.toString('latin1', start, end) !== 'null'
    return name === 'output_config' && bytes.subarray(start, end).includes('"format"')
  })
}

/** Anthropic's messages. */
export const messages: Protocol = {
  path: '/v1/messages',
  enginePath: '/v1/messages',
  route: 'messages',
  translations: [asChat],
  description: {
    operationId: 'createMessage',
    summary: 'Send messages to a deployed model, in Anthropic’s format',
    request: messageBody,
    response: messageResponse,
    events: { data: messageEvent, note: 'The last event is `message_stop`.' },
  },
  operation: 'chat',
  modelTypes: ['LLM'],
  members: [],
  unparsed: ['tools', 'output_config', 'output_format'],
  messages: 'messages',
  input: { member: 'messages', mayBeText: false },
  outputLimits: ['max_tokens'],
  prefersTranslation: (body) =>
    hasHostedTools(body) || hasFormat(body) || scattersSystemTexts(body, 'messages', true),
  media: anthropicMedia,
  edit: () => [],
  countedAt: '/v1/messages/count_tokens',
  bodies: { usageAt: ['usage'], readUsage: readAnthropicUsage, openRewriter: () => null },
  events: {
    counted: {},
    countMark: 'usage"',
    readUsage: readEventUsage,
    chunkMark: 'block_delta"',
    isEmptyChunk: null,
    openChoices: () => null,
    openRemoval: () => null,
    end: { complete: ['message_stop"'], failed: ['"error":'], errors: anthropicErrors },
  },
  errors: anthropicErrors,
  keepAlive: { name: 'ping', data: { type: 'ping' } },
}
