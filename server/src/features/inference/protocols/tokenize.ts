import { z } from 'zod'
import { ApplicationError } from '../../../base/errors.ts'
import { modelTypes } from '../../../ports/model-variant.ts'
import { modelField, openAiErrors } from './openai.ts'
import type { Protocol, Translation } from './protocol.ts'

const tokenizeBody = z
  .looseObject({
    model: modelField,
    prompt: z.string().optional().describe('The text to tokenize'),
    messages: z
      .array(z.looseObject({}))
      .optional()
      .describe('Instead of `prompt`: the messages of a chat, whose prompt is tokenized'),
    add_special_tokens: z
      .boolean()
      .nullish()
      .describe('false to leave out the tokens that the model puts before a text'),
    return_token_strs: z.boolean().nullish().describe('true for the texts of the tokens too'),
  })
  .meta({
    id: 'TokenizeRequest',
    description: 'As in vLLM. Every field except `model` is forwarded to the engine, which validates it.',
    examples: [{ model: 'berth-tiny', prompt: 'A ship in a harbor' }],
  })

const tokenizeResponse = z
  .looseObject({
    count: z.int().describe('Number of tokens'),
    max_model_len: z.int().nullable().describe('The longest request that the deployment accepts, in tokens'),
    tokens: z.array(z.number()).describe('The ids of the tokens in the model’s vocabulary'),
    token_strs: z
      .array(z.string())
      .nullish()
      .describe('The texts of the tokens, if the request asks for them'),
  })
  .meta({ id: 'Tokens', description: 'The engine’s response, in vLLM’s shape' })

/** What `/tokenize` has in every engine. It generates nothing, so it uses no tokens. */
const common = {
  path: '/tokenize',
  enginePath: '/tokenize',
  description: {
    operationId: 'tokenize',
    summary: 'Count the tokens of a text or a chat',
    request: tokenizeBody,
    response: tokenizeResponse,
    events: null,
  },
  operation: 'tokenize',
  modelTypes,
  members: [],
  edit: () => [],
  countedAt: null,
  bodies: { usageAt: null, readUsage: () => null, openRewriter: () => null },
  events: null,
  errors: openAiErrors,
} satisfies Omit<Protocol, 'route' | 'translations'>

/** Engines that take a text as `content` and no messages. */
const tokenizeContent: Protocol = { ...common, route: 'tokenize_content', translations: [] }

interface ContentToken {
  id: number
  piece: string | number[]
}

const asContent: Translation = {
  via: tokenizeContent,
  translate(
    { model, prompt, add_special_tokens: addsSpecial, return_token_strs: wantsTexts },
    { contextTokens },
  ) {
    if (typeof prompt !== 'string') {
      throw new ApplicationError(
        'invalid_request_error',
        '`prompt` must be a text. The engine of this deployment tokenizes texts, and no messages.',
      )
    }
    const body = {
      model,
      content: prompt,
      add_special: addsSpecial !== false,
      with_pieces: wantsTexts === true,
    }
    return {
      body,
      answers: {
        toBody(answer) {
          const { tokens = [] } = answer as { tokens?: (number | ContentToken)[] }
          const texts = tokens.map((token) => (typeof token === 'number' ? '' : toText(token.piece)))
          return {
            count: tokens.length,
            max_model_len: contextTokens,
            tokens: tokens.map((token) => (typeof token === 'number' ? token : token.id)),
            token_strs: wantsTexts === true ? texts : null,
          }
        },
        openEvents: null,
      },
    }
  },
}

/** A token that ends within a character has bytes instead of a text. */
function toText(piece: string | number[]): string {
  return typeof piece === 'string' ? piece : Buffer.from(piece).toString()
}

/** vLLM’s tokenization of a text or a chat. */
export const tokenize: Protocol = { ...common, route: 'tokenize', translations: [asContent] }
