import type { Engine } from './engines.ts'

/** The timing of one streamed answer, in milliseconds. */
export interface Answer {
  /** From the request to the first token */
  first: number
  /** The longest pause between two tokens */
  longestGap: number
  /** From the first token to the end */
  rest: number
  promptTokens: number
  cachedTokens: number
  tokens: number
  text: string
}

interface Message {
  role: 'user' | 'assistant'
  content: string
}

/** Same sampling for both engines */
const SAMPLING = { temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05 }

/** Streams one answer of a fixed number of tokens. */
export async function streamAnswer(
  engine: Engine,
  messages: readonly Message[],
  options: { max_tokens: number; response_format?: unknown; onToken?: () => void },
): Promise<Answer> {
  const { onToken, ...fields } = options
  const body = {
    model: 'model',
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...SAMPLING,
  }
  const began = performance.now()
  const response = await post(engine, '/v1/chat/completions', { ...body, ...fields })
  const times: number[] = []
  let text = ''
  let usage: Usage | null = null
  for await (const event of readEvents(response)) {
    if (event.choices === undefined) throw new Error(`${engine.url} broke off: ${JSON.stringify(event)}`)
    usage = event.usage ?? usage
    const delta = event.choices[0]?.delta ?? {}
    if (delta.content == null || delta.content === '') continue
    times.push(performance.now())
    text += delta.content
    onToken?.()
  }
  // A model may end its answer at once.
  const first = times[0] ?? performance.now()
  if (usage === null) throw new Error(`${engine.url} sent no usage.`)
  return {
    first: first - began,
    longestGap: Math.max(0, ...times.slice(1).map((time, index) => time - times[index]!)),
    rest: performance.now() - first,
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    tokens: usage.completion_tokens,
    text,
  }
}

/** Computes embeddings of the texts. */
export async function embed(engine: Engine, input: readonly string[]): Promise<void> {
  const response = await post(engine, '/v1/embeddings', { model: 'model', input })
  await response.arrayBuffer()
}

/** A user's message with random words, so that no two messages share a prefix. */
export function randomMessage(words: number): Message {
  const lexicon = ['river', 'house', 'seven', 'green', 'train', 'paper', 'light', 'music', 'stone', 'bread']
  const pick = (): string => lexicon[Math.floor(Math.random() * lexicon.length)]!
  const given = Array.from({ length: words }, pick).join(' ')
  return { role: 'user', content: `${given}. Write a long story with these words.` }
}

interface Usage {
  prompt_tokens: number
  completion_tokens: number
  prompt_tokens_details?: { cached_tokens?: number }
}

interface Event {
  choices: { delta?: { content?: string | null } }[]
  usage?: Usage | null
}

async function post({ url, key }: Engine, path: string, body: unknown): Promise<Response> {
  const response = await fetch(url + path, {
    method: 'POST',
    // llama-server closes idle connections, and a request that is just sent on one fails.
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url}${path} answers ${response.status}: ${await response.text()}`)
  return response
}

async function* readEvents(response: Response): AsyncGenerator<Event> {
  let buffered = ''
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (buffered + text).split('\n')
    buffered = lines.pop()!
    for (const line of lines) {
      if (line.startsWith('data: {')) yield JSON.parse(line.slice('data: '.length)) as Event
    }
  }
}
