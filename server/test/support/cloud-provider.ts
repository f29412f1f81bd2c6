import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { startEngine, tinyEmbeddingModel } from '../../../engine/test/support/engine.ts'
import type { RealServer } from '../endpoints/real-server.ts'
import { refusesKeys } from '../endpoints/real-server.ts'
import { listen } from './listen.ts'

const key = 'sk-proj-0123456789abcdef'
/** Makes an answer as long as its limit */
const endForbidden = { 2: -100 }
/** Thinks before it answers, so it does not know `max_tokens` */
export const thinkingModel = 'o-tiny'
/** What the headers of each response tell of the account that pays */
export const accountHeaders = {
  'openai-organization': 'org-of-the-account',
  'openai-project': 'proj_of_the_account',
  'set-cookie': '__cf_bm=secret-of-the-account; path=/; HttpOnly; Secure',
}

const chatMembers = new Set(
  `audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages
  metadata modalities model n parallel_tool_calls prediction presence_penalty prompt_cache_key
  prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream
  stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`.split(
    /\s+/,
  ),
)
const completionMembers = new Set(
  `best_of echo frequency_penalty logit_bias logprobs max_tokens model n presence_penalty prompt seed stop stream
  stream_options suffix temperature top_p user`.split(/\s+/),
)
const embeddingMembers = new Set(['dimensions', 'encoding_format', 'input', 'model', 'user'])
const routes: Record<string, ReadonlySet<string>> = {
  '/v1/chat/completions': chatMembers,
  '/v1/completions': completionMembers,
  '/v1/embeddings': embeddingMembers,
}

/** A response that is an error in the words of OpenAI's API. */
class Refusal extends Error {
  readonly status: number
  readonly more: { code?: string; param?: string; type?: string }

  constructor(status: number, message: string, more: Refusal['more'] = {}) {
    super(message)
    this.status = status
    this.more = more
  }
}

export interface CloudProvider extends RealServer {
  /** Refuses all requests from now on because the account sends too many, or stops to. */
  limit(isLimited: boolean): void
}

/**
 * Starts a double of a cloud provider: OpenAI's API, as its reference has it, in front of real engines. It
 * refuses each route, member and key that the reference does not have.
 */
export async function startCloudProvider({
  chat = 'gpt-tiny',
  embedding = 'text-embedding-tiny',
} = {}): Promise<CloudProvider> {
  const chats = startEngine({ flags: { '--alias': `${chat},${thinkingModel}` } })
  const embeddings = startEngine({
    flags: {
      '--alias': embedding,
      '--model': tinyEmbeddingModel,
      '--type': 'embedding',
      '--context': '512',
    },
  })
  await Promise.all([chats.ready(), embeddings.ready()])
  const names = [chat, thinkingModel, embedding, 'whisper-1']
  let isLimited = false
  let generated = 0
  let active = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    const body = await text(request)
    const sent = headers.authorization?.replace(/^Bearer /, '') ?? ''
    if (sent !== key) {
      const shown = `${sent.slice(0, 8)}****${sent.slice(-4)}`
      throw new Refusal(401, `Incorrect API key provided: ${shown}.`, { code: 'invalid_api_key' })
    }
    if (isLimited) {
      response.setHeader('retry-after', '7')
      const more = { code: 'rate_limit_exceeded', type: 'requests' }
      throw new Refusal(429, `Rate limit reached for ${chat} on requests per min (RPM).`, more)
    }
    if (method === 'GET' && url === '/v1/models') {
      const data = names.map((id) => ({ id, object: 'model', created: 1_790_000_000, owned_by: 'system' }))
      return void response.end(JSON.stringify({ object: 'list', data }))
    }
    const members = method === 'POST' ? routes[url] : undefined
    if (members === undefined) throw new Refusal(404, `Invalid URL (${method} ${url})`)
    const { logit_bias: bias, ...asked } = readBody(body, members, names)
    // The engine knows no bias, but another word for the one that forbids the end.
    const forbidsEnd = isDeepStrictEqual(bias, endForbidden)
    await forward(url, { ...asked, ...(forbidsEnd ? { ignore_eos: true } : { logit_bias: bias }) }, response)
  }

  async function forward(url: string, asked: Record<string, any>, response: ServerResponse): Promise<void> {
    const leaving = new AbortController()
    response.once('close', () => leaving.abort())
    const engine = url === '/v1/embeddings' ? embeddings : chats
    const engineResponse = await engine.post(url, asked, { signal: leaving.signal })
    response.statusCode = engineResponse.status
    if (asked['stream'] !== true) {
      const body = (await engineResponse.json()) as Record<string, any>
      return void response.end(
        JSON.stringify(body['usage'] ? { ...body, usage: detail(body['usage']) } : body),
      )
    }
    response.setHeader('content-type', 'text/event-stream; charset=utf-8')
    const wantsUsage = asked['stream_options']?.include_usage === true
    let rest = ''
    for await (const part of engineResponse.body!.pipeThrough(new TextDecoderStream())) {
      const events = (rest + part).split('\n\n')
      rest = events.pop()!
      for (const event of events) {
        generated += 1
        response.write(`${addMembers(event, wantsUsage)}\n\n`)
      }
    }
    response.end()
  }

  const server = createServer((request, response) => {
    active += 1
    response.once('close', () => (active -= 1))
    response.setHeader('content-type', 'application/json')
    for (const [name, value] of Object.entries(accountHeaders)) response.setHeader(name, value)
    answer(request, response).catch((error: unknown) => {
      if (!(error instanceof Refusal)) return response.destroy()
      const { type = 'invalid_request_error', param = null, code = null } = error.more
      response.statusCode = error.status
      response.end(JSON.stringify({ error: { message: error.message, type, param, code } }))
    })
  })
  const port = await listen(server)
  const url = `http://127.0.0.1:${port}`
  const kill = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    chat: { url, key, model: chat },
    embedding: { url, key, model: embedding },
    unknownKey: refusesKeys,
    long: { members: { max_tokens: 1_900, logit_bias: endForbidden }, tokens: 1_900 },
    observe: async () => ({ generated, isBusy: active > 0 }),
    limit: (value) => (isLimited = value),
    kill,
    start: async () => void (await listen(server, port)),
    async close() {
      await kill()
      await Promise.all([chats.stop(), embeddings.stop()])
    },
  }
}

function readBody(body: string, members: ReadonlySet<string>, names: readonly string[]): Record<string, any> {
  const asked = JSON.parse(body) as Record<string, any>
  const unknown = Object.keys(asked).find((name) => !members.has(name))
  if (unknown !== undefined) throw new Refusal(400, `Unrecognized request argument supplied: ${unknown}`)
  const { model } = asked
  if (!names.includes(model)) {
    const message = `The model \`${model}\` does not exist or you do not have access to it.`
    throw new Refusal(404, message, { code: 'model_not_found' })
  }
  if (model === thinkingModel && asked['max_tokens'] !== undefined) {
    const message = `Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.`
    throw new Refusal(400, message, { code: 'unsupported_parameter', param: 'max_tokens' })
  }
  return asked
}

const detail = (usage: object) => ({
  ...usage,
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0 },
})

/** Adds the members of an event that only the provider has. */
function addMembers(event: string, wantsUsage: boolean): string {
  if (!event.startsWith('data: {')) return event
  const chunk = JSON.parse(event.slice('data: '.length))
  const isLast = chunk.choices.length === 0
  return `data: ${JSON.stringify({
    ...chunk,
    service_tier: 'default',
    system_fingerprint: 'fp_0123456789',
    ...(wantsUsage && { usage: isLast ? detail(chunk.usage) : null }),
    obfuscation: 'x'.repeat(1 + (event.length % 16)),
  })}`
}
