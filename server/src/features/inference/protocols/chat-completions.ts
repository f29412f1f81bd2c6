import { z } from 'zod'
import { fitChat, fittedMembers } from './fit-chat.ts'
import {
  forwardedFields,
  modelField,
  modelOfResponse,
  openAiErrors,
  readOpenAiUsage,
  responseOfEngine,
  usageBody,
} from './openai.ts'
import { askForUsage, openAiChunks, streamMembers } from './openai-streams.ts'
import type { MainProtocol } from './protocol.ts'
import { foldSystemTexts } from './system-texts.ts'

const toolCall = z
  .looseObject({
    id: z.string().describe('Identifies the call in the `tool` message with its result'),
    type: z.literal('function').describe('Always `function`'),
    function: z
      .looseObject({
        name: z.string().describe('The function to call'),
        arguments: z.string().describe('The arguments as JSON, as the model wrote them'),
      })
      .describe('The call'),
  })
  .meta({ id: 'ToolCall', description: 'A call of a function that the model asks for' })

const chatBody = z
  .looseObject({
    model: modelField,
    messages: z
      .array(
        z.looseObject({
          role: z.string().describe('`system`, `user`, `assistant` or `tool`'),
          content: z
            .unknown()
            .optional()
            .describe(
              'A text or a list of parts; missing or null in an assistant’s message with only tool calls',
            ),
          tool_calls: z.array(toolCall).optional().describe('The calls in an assistant’s message'),
          tool_call_id: z.string().optional().describe('In a `tool` message: the call that it answers'),
        }),
      )
      .describe('The conversation so far'),
    stream: z.boolean().nullish().describe('true for server-sent events'),
  })
  .meta({
    id: 'ChatCompletionRequest',
    description: forwardedFields,
    examples: [{ model: 'berth-tiny', messages: [{ role: 'user', content: 'Hello!' }], stream: true }],
  })

const choice = {
  index: z.int().describe('Position among the choices'),
  finish_reason: z
    .string()
    .nullable()
    .describe('Why the model stopped, such as `stop`, `length` or `tool_calls`; null while it goes on'),
}

const part = z.looseObject({
  role: z.string().optional().describe('`assistant`'),
  content: z.string().nullish().describe('The text; null or missing if there are only tool calls'),
  tool_calls: z.array(z.looseObject({})).optional().describe('Calls of functions, or the next part of them'),
})

const completion = {
  id: z.string().describe('Id of the response'),
  created: z.int().describe('Unix time in seconds'),
  model: modelOfResponse,
}

const chatCompletion = z
  .looseObject({
    ...completion,
    object: z.literal('chat.completion').describe('Always `chat.completion`'),
    choices: z
      .array(z.looseObject({ ...choice, message: part.describe('The model’s message') }))
      .describe('The answers: one, unless the request asks for more'),
    usage: usageBody.optional().describe('Tokens that the request used'),
  })
  .meta({ id: 'ChatCompletion', description: responseOfEngine })

const chatCompletionChunk = z
  .looseObject({
    ...completion,
    object: z.literal('chat.completion.chunk').describe('Always `chat.completion.chunk`'),
    choices: z
      .array(z.looseObject({ ...choice, delta: part.describe('What the model added') }))
      .describe('Empty in the chunk with the usage'),
    usage: usageBody.nullish().describe('In the last chunk, if `stream_options.include_usage` is true'),
  })
  .meta({ id: 'ChatCompletionChunk', description: 'A part of a streamed response' })

const emptyDelta =
  /\s*:\s*\{\s*(?:"role"\s*:\s*"\w+"\s*,?\s*)?(?:"content"\s*:\s*(?:""|null)\s*,?\s*)?(?:"tool_calls"\s*:\s*\[\s*\]\s*)?\}/y
const quote = 0x22
const firstOfContent = 0x63

function isEmptyChunk(events: string, at: number): boolean {
  // No empty delta has these characters of `:{"content":"…`, which costs a tenth of the pattern.
  const beginsText =
    events.charCodeAt(at + 3) === firstOfContent &&
    events.charCodeAt(at + 12) === quote &&
    events.charCodeAt(at + 13) !== quote
  if (beginsText) return false
  emptyDelta.lastIndex = at
  return emptyDelta.test(events)
}

/** OpenAI's chat completions. */
export const chatCompletions: MainProtocol = {
  path: '/v1/chat/completions',
  enginePath: '/v1/chat/completions',
  route: null,
  translations: [],
  description: {
    operationId: 'createChatCompletion',
    summary: 'Chat with a deployed model',
    request: chatBody,
    response: chatCompletion,
    events: { data: chatCompletionChunk, note: 'The last event is `data: [DONE]`.' },
  },
  operation: 'chat',
  modelTypes: ['LLM'],
  members: streamMembers,
  unparsed: fittedMembers,
  messages: 'messages',
  input: { member: 'messages', mayBeText: false },
  outputLimits: ['max_tokens', 'max_completion_tokens'],
  edit: (body) => [...askForUsage(body), ...foldSystemTexts(body)],
  fit: fitChat,
  countedAt: '/tokenize',
  bodies: {
    usageAt: ['usage'],
    readUsage: readOpenAiUsage,
    openRewriter: () => null,
  },
  events: {
    ...openAiChunks,
    chunkMark: 'delta"',
    isEmptyChunk,
  },
  composeThought: (text, { id, model }) => ({
    id: `chatcmpl-${id}`,
    object: 'chat.completion.chunk',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ index: 0, delta: { role: 'assistant', reasoning_content: text }, finish_reason: null }],
  }),
  errors: openAiErrors,
  modelKind: 'a chat model',
  warmUp: { input: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 }, results: 'choices' },
}
