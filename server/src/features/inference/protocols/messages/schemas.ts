import { z } from 'zod'
import { modelField, modelOfResponse } from '../openai.ts'
import { anthropicUsageBody } from './anthropic.ts'

const content = z
  .unknown()
  .describe('A text or a list of blocks: `text`, `image`, `document`, `tool_use`, `tool_result`, `thinking`')

const promptFields = {
  model: modelField,
  system: z.unknown().optional().describe('Instructions: a text or a list of text blocks'),
  messages: z
    .array(z.looseObject({ role: z.string().describe('`user`, `assistant` or `system`'), content }))
    .describe('The conversation so far'),
  tools: z
    .array(z.looseObject({}))
    .nullish()
    .describe(
      'Tools that the model may call, also `bash_*`, `text_editor_*` and `memory_*`. Those that Anthropic’s servers run are left out',
    ),
  tool_choice: z.looseObject({}).nullish().describe('Which tools the model may or must call'),
}

const messages = [{ role: 'user', content: 'Hello!' }]

/** Documentation of the body of a request for a message. */
export const messageBody = z
  .looseObject({
    ...promptFields,
    max_tokens: z.int().describe('Most tokens of the answer; limited to what the context leaves'),
    stop_sequences: z.array(z.string()).nullish().describe('Texts that end the answer'),
    thinking: z
      .looseObject({})
      .nullish()
      .describe('Whether the answer has the thoughts that the engine separates from it'),
    stream: z.boolean().nullish().describe('true for server-sent events'),
  })
  .meta({
    id: 'MessageRequest',
    description:
      'As in Anthropic’s API. Fields that only tune, store or cache are ignored; others that the engine can’t honor are refused by name.',
    examples: [{ model: 'berth-tiny', max_tokens: 64, messages }],
  })

/** Documentation of a message. */
export const messageResponse = z
  .looseObject({
    id: z.string().describe('Id of the message'),
    type: z.literal('message').describe('Always `message`'),
    role: z.literal('assistant').describe('Always `assistant`'),
    model: modelOfResponse,
    content: z.array(z.looseObject({})).describe('Blocks: `thinking`, `text` and `tool_use`'),
    stop_reason: z
      .string()
      .nullable()
      .describe('Why the model stopped: `end_turn`, `max_tokens`, `stop_sequence` or `tool_use`'),
    stop_sequence: z.string().nullish().describe('The text that ended the answer, if the engine tells'),
    usage: anthropicUsageBody.describe('Tokens that the request used'),
  })
  .meta({ id: 'Message', description: 'An answer in Anthropic’s shape' })

/** Documentation of the events of a streamed message. */
export const messageEvent = z
  .looseObject({
    type: z
      .string()
      .describe(
        '`message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop` or `error`',
      ),
  })
  .meta({ id: 'MessageEvent', description: 'An event of a streamed message' })

/** Documentation of the body of a request to count tokens. */
export const countTokensBody = z.looseObject(promptFields).meta({
  id: 'CountTokensRequest',
  description: 'As in Anthropic’s API',
  examples: [{ model: 'berth-tiny', messages }],
})

/** Documentation of a count. */
export const countTokensResponse = z
  .looseObject({ input_tokens: z.int().describe('Tokens of the prompt') })
  .meta({ id: 'TokenCount', description: 'The tokens of a prompt' })
