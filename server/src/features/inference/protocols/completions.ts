import { z } from 'zod'
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
import type { Protocol } from './protocol.ts'

const completionBody = z
  .looseObject({
    model: modelField,
    prompt: z
      .unknown()
      .describe('A text, a list of texts, a list of token ids of the model, or a list of those'),
    suffix: z.string().nullish().describe('The text after the completion, for models that can fill in'),
    max_tokens: z.int().nullish().describe('Most tokens of each completion'),
    echo: z.boolean().nullish().describe('true to repeat the prompt before the completion'),
    logprobs: z
      .int()
      .nullish()
      .describe('For each token its log probability and those of so many most likely tokens'),
    n: z.int().nullish().describe('Completions of each prompt'),
    stop: z.unknown().optional().describe('Texts that end a completion'),
    stream: z.boolean().nullish().describe('true for server-sent events'),
  })
  .meta({
    id: 'CompletionRequest',
    description: forwardedFields,
    examples: [{ model: 'berth-tiny', prompt: 'The harbor is', max_tokens: 16 }],
  })

const completion = z
  .looseObject({
    id: z.string().describe('Id of the response'),
    object: z.literal('text_completion').describe('Always `text_completion`'),
    created: z.int().describe('Unix time in seconds'),
    model: modelOfResponse,
    choices: z
      .array(
        z.looseObject({
          index: z.int().describe('Position among the choices: those of the first prompt come first'),
          text: z.string().describe('The completion; in a stream, the added text'),
          logprobs: z.looseObject({}).nullish().describe('The log probabilities that `logprobs` asks for'),
          finish_reason: z
            .string()
            .nullable()
            .describe('Why the model stopped: `stop` or `length`; null while it goes on'),
        }),
      )
      .describe('The completions'),
    usage: usageBody.nullish().describe('Tokens that the request used; in a stream as in a chat'),
  })
  .meta({ id: 'Completion', description: responseOfEngine })

const emptyText = /\s*:\s*""/y

function isEmptyChunk(events: string, at: number): boolean {
  emptyText.lastIndex = at
  return emptyText.test(events)
}

/** OpenAI's completions of raw prompts. */
export const completions: Protocol = {
  path: '/v1/completions',
  enginePath: '/v1/completions',
  route: 'completions',
  translations: [],
  description: {
    operationId: 'createCompletion',
    summary: 'Complete a prompt with a deployed model',
    request: completionBody,
    response: completion,
    events: { data: completion, note: 'The last event is `data: [DONE]`.' },
  },
  operation: 'text_completion',
  modelTypes: ['LLM'],
  members: streamMembers,
  unparsed: ['prompt'],
  input: { member: 'prompt', mayBeText: true },
  outputLimits: ['max_tokens'],
  edit: askForUsage,
  countedAt: '/tokenize',
  bodies: { usageAt: ['usage'], readUsage: readOpenAiUsage, openRewriter: () => null },
  events: {
    ...openAiChunks,
    chunkMark: 'text"',
    isEmptyChunk,
    // A list may have several prompts, each with a choice.
    openChoices: ({ prompt, n }, inEvents) =>
      openAiChunks.openChoices({ n: prompt === 'array' ? 2 : n }, inEvents),
  },
  errors: openAiErrors,
}
