import { anthropicMedia } from '../media-formats.ts'
import type { Protocol, Translation } from '../protocol.ts'
import { scattersSystemTexts } from '../system-texts.ts'
import { tokenize } from '../tokenize.ts'
import { anthropicErrors } from './anthropic.ts'
import { countTokensBody, countTokensResponse } from './schemas.ts'
import { messageSources, toChatPrompt } from './to-chat.ts'
import { hasHostedTools } from './tools-to-chat.ts'
import { InvalidResponse } from '../../../../base/invalid-response.ts'

const asTokens: Translation = {
  via: tokenize,
  sources: messageSources,
  translate(request, deployment) {
    const { body, paths } = toChatPrompt(request, deployment)
    return {
      body,
      answers: {
        paths,
        toBody(answer) {
          const { count } = (answer ?? {}) as { count?: unknown }
          if (typeof count !== 'number') throw new InvalidResponse('no count')
          return { input_tokens: count }
        },
        openEvents: null,
      },
    }
  },
}

/** Anthropic's count of the tokens of a prompt. It generates nothing, so it uses no tokens. */
export const countTokens: Protocol = {
  path: '/v1/messages/count_tokens',
  enginePath: '/v1/messages/count_tokens',
  route: 'count_tokens',
  translations: [asTokens],
  description: {
    operationId: 'countMessageTokens',
    summary: 'Count the tokens of messages, in Anthropic’s format',
    request: countTokensBody,
    response: countTokensResponse,
    events: null,
  },
  operation: 'count_tokens',
  modelTypes: ['LLM'],
  members: [],
  unparsed: ['tools'],
  prefersTranslation: (body) => hasHostedTools(body) || scattersSystemTexts(body, 'messages', true),
  messages: 'messages',
  media: anthropicMedia,
  edit: () => [],
  countedAt: null,
  bodies: { usageAt: null, readUsage: () => null, openRewriter: () => null },
  events: null,
  errors: anthropicErrors,
}
