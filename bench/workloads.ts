import {
  composeMessage,
  composeMessageEvents,
  composeResponse,
  composeResponseEvents,
} from './agent-answers.ts'

export type WorkloadName =
  | 'chat'
  | 'embeddings'
  | 'prompt'
  | 'document'
  | 'stream'
  | 'counted'
  | 'paced'
  | 'rate'
  | 'burst'
  | 'idle'
  | 'responses'
  | 'responses-stream'
  | 'messages'
  | 'messages-stream'

/** One kind of load, and how it is put on a target. */
export interface Workload {
  name: WorkloadName
  title: string
  path: '/v1/chat/completions' | '/v1/embeddings' | '/v1/responses' | '/v1/messages'
  /** The targets that run it (default: all) */
  targets?: readonly string[]
  /** JSON as callers send it */
  requestBody: string
  /** The upstream's response: a JSON document, a stream's text, or events with usage on request */
  answer:
    | { whole: string }
    | { text: string }
    | { events: number; everyMicroseconds: number; isCounted?: boolean }
  /** `rate` is in requests per second, `silence` in seconds before the measurement */
  load: { mode: 'closed' | 'rate' | 'hold'; connections: number; rate?: number; silence?: number }
}

const chatModel = 'berth-tiny'
const embeddingModel = 'berth-tiny-embedding'
/** The name of a deployment whose engine serves the routes of agents */
export const routedModel = 'routed'

/** Deterministic numbers from -1 to 1, so that every run measures the same bytes. */
function* numbers(): Generator<number> {
  for (let state = 1; ; state = (state * 48_271) % 2_147_483_647) yield state / 1_073_741_823.5 - 1
}

const words =
  'the berth is where a ship lies while it loads and what it carries is of no concern to the pilot who brings it in'
const sentences = (length: number) => `${words}. `.repeat(Math.ceil(length / words.length)).slice(0, length)

const chatRequest = JSON.stringify({
  model: chatModel,
  messages: [
    { role: 'system', content: 'You are a helpful assistant who answers in one sentence.' },
    { role: 'user', content: sentences(780) },
  ],
  temperature: 0.7,
  max_tokens: 200,
})

const streamRequest = JSON.stringify({
  model: chatModel,
  messages: [{ role: 'user', content: sentences(300) }],
  max_tokens: 200,
  stream: true,
})

// Code and dialogue: every message has quotes, newlines and non-ASCII characters.
const composePrompt = (messages: number) =>
  JSON.stringify({
    model: chatModel,
    messages: Array.from({ length: messages }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `"Line ${index}"\n\tconst path = "C:\\\\berth\\\\${index}"\n— ${sentences(460)}`,
    })),
    temperature: 0.7,
  })

const chatAnswer = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_790_000_000,
  model: 'engine',
  choices: [{ index: 0, message: { role: 'assistant', content: sentences(780) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 200, completion_tokens: 200, total_tokens: 400 },
})

const random = numbers()
const embeddingsAnswer = JSON.stringify({
  object: 'list',
  data: Array.from({ length: 5 }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: Array.from({ length: 1024 }, () => Number(random.next().value?.toFixed(16))),
  })),
  model: 'engine',
  usage: { prompt_tokens: 200, total_tokens: 200 },
})

const embeddingsRequest = JSON.stringify({
  model: embeddingModel,
  input: Array.from({ length: 5 }, () => sentences(180)),
})

const chat = {
  path: '/v1/chat/completions',
  requestBody: chatRequest,
  answer: { whole: chatAnswer },
} as const
const streamed = { path: '/v1/chat/completions', requestBody: streamRequest } as const
const unpaced = {
  ...streamed,
  answer: { events: 200, everyMicroseconds: 0 },
  load: { mode: 'closed', connections: 32 },
} as const
const responses = {
  path: '/v1/responses',
  targets: ['berth'],
  requestBody: JSON.stringify({
    model: routedModel,
    instructions: 'You are a helpful assistant who answers in one sentence.',
    input: sentences(780),
    temperature: 0.7,
    max_output_tokens: 200,
  }),
  load: { mode: 'closed', connections: 32 },
} as const
const messages = {
  path: '/v1/messages',
  targets: ['berth'],
  requestBody: JSON.stringify({
    model: routedModel,
    system: 'You are a helpful assistant who answers in one sentence.',
    messages: [{ role: 'user', content: sentences(780) }],
    temperature: 0.7,
    max_tokens: 200,
  }),
  load: { mode: 'closed', connections: 32 },
} as const
/** A short request for a stream, as long as that of a streamed chat */
const asStream = (requestBody: string) =>
  JSON.stringify({ ...(JSON.parse(requestBody) as object), stream: true }).replace(
    sentences(780),
    sentences(300),
  )
const endless = 1_000_000

export const workloads: readonly Workload[] = [
  { ...chat, name: 'chat', title: '1 KB chat', load: { mode: 'closed', connections: 32 } },
  {
    name: 'embeddings',
    title: '100 KB embeddings answer',
    path: '/v1/embeddings',
    requestBody: embeddingsRequest,
    answer: { whole: embeddingsAnswer },
    load: { mode: 'closed', connections: 32 },
  },
  {
    ...chat,
    name: 'prompt',
    title: '33 KB prompt of 60 messages',
    requestBody: composePrompt(60),
    load: { mode: 'closed', connections: 32 },
  },
  {
    ...chat,
    name: 'document',
    title: '1 MB prompt of 1,850 messages',
    requestBody: composePrompt(1850),
    load: { mode: 'closed', connections: 8 },
  },
  { ...unpaced, name: 'stream', title: 'unpaced stream of 200 events' },
  {
    ...unpaced,
    name: 'counted',
    title: 'unpaced stream of 200 events with usage removed',
    answer: { ...unpaced.answer, isCounted: true },
  },
  {
    ...streamed,
    name: 'paced',
    title: '500 streams of 50 events a second',
    answer: { events: endless, everyMicroseconds: 20_000 },
    load: { mode: 'hold', connections: 500 },
  },
  {
    ...chat,
    name: 'rate',
    title: '500 requests a second',
    load: { mode: 'rate', connections: 200, rate: 500 },
  },
  {
    ...chat,
    name: 'burst',
    title: '1 KB chat after 12 s of silence',
    load: { mode: 'closed', connections: 32, silence: 12 },
  },
  {
    ...streamed,
    name: 'idle',
    title: '2,000 idle streams',
    answer: { events: endless, everyMicroseconds: 60_000_000 },
    load: { mode: 'hold', connections: 2000 },
  },
  {
    ...responses,
    name: 'responses',
    title: '1 KB response of /v1/responses',
    answer: { whole: composeResponse(sentences(780)) },
  },
  {
    ...responses,
    name: 'responses-stream',
    title: 'unpaced stream of 200 tokens of /v1/responses',
    requestBody: asStream(responses.requestBody),
    answer: { text: composeResponseEvents() },
  },
  {
    ...messages,
    name: 'messages',
    title: '1 KB answer of /v1/messages',
    answer: { whole: composeMessage(sentences(780)) },
  },
  {
    ...messages,
    name: 'messages-stream',
    title: 'unpaced stream of 200 tokens of /v1/messages',
    requestBody: asStream(messages.requestBody),
    answer: { text: composeMessageEvents() },
  },
]
