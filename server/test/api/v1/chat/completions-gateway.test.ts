import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { deriveEngineKey } from '../../../../src/features/deployments/serving/engine-spec.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { waitForStatus } from '../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/chat/completions'

let engine: RecordingEngine
let server: TestServer
let client: Client
let id: string
let embeddingId: string
beforeAll(async () => {
  engine = await startRecordingEngine()
  engine.answer(answerNothing)
  server = await startTestServer({
    runtime: createScriptedRuntime(engine.url),
    settings: { INFERENCE_MEDIA_DOMAINS: 'images.example' },
  })
  client = await registerClient(server.url)
  id = (await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).body.id
  const embedding = { model_name: 'berth-tiny-embedding' }
  embeddingId = (await client.post('/api/v1/model-deployments', embedding)).body.id
  await waitForStatus(client, id, 'running')
  await waitForStatus(client, embeddingId, 'running')
})
afterEach(() => engine.answer(answerNothing))
afterAll(async () => {
  await server.close()
  await engine.close()
})

/** Of the route of chats and that of embeddings */
function answerNothing(response: ServerResponse): void {
  answerJson(response, '{"data":[]}')
}

/** Sends a request without parsing the response. */
function call(
  body: string,
  options: { signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    body,
    ...options,
    headers: { cookie: client.cookie(), 'content-type': 'application/json', ...options.headers },
  })
}

test.each([
  ['/v1/chat/completions', 'berth-tiny', () => id],
  ['/v1/embeddings', 'berth-tiny-embedding', () => embeddingId],
])(
  'POST %s: everything except `model` reaches the engine byte for byte: unknown fields, numbers, spacing, duplicate keys',
  async (each, served, toId) => {
    const id = toId()
    const rest =
      ' , "n":1.0,"big":1e400,\n "seed":12345678901234567890,"t":"\\u00e9/é","t":2, "own":{"model":"x"}}'
    const answer = await client.request('POST', each, `{"model": "${id}"${rest}`)
    expect(answer.status).toBe(200)
    expect(engine.last()).toMatchObject({ path: each, body: `{"model": "${served}"${rest}` })
  },
)

test.each([
  ['/v1/chat/completions', () => id],
  ['/v1/embeddings', () => embeddingId],
])('POST %s: an engine is never asked to fetch media from a host that is not allowed', async (each, toId) => {
  const received = engine.requests.length
  const ask = (url: string, size = 0) => {
    const parts = [{ type: 'image_url', image_url: { url } }]
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'a'.repeat(size) }, ...parts] }]
    return client.post(each, { model: toId(), messages })
  }
  for (const size of [0, 700_000]) {
    for (const url of ['http://169.254.169.254/', 'https://other.example/a.png', 'file:///etc/passwd']) {
      const answer = await ask(url, size)
      expect(answer.status).toBe(400)
      expect(answer.body.error).toMatchObject({
        code: 'invalid_request_error',
        message: expect.stringMatching(/only from images\.example\. Send images.*`data:` URLs/),
      })
    }
  }
  expect(engine.requests).toHaveLength(received)
  for (const url of ['data:image/png;base64,AAAA', 'https://images.example/a.png']) {
    expect((await ask(url)).status).toBe(200)
    expect(engine.last().body).toContain(url)
  }
})

test('POST /v1/chat/completions: an engine without room is a 429 with Retry-After', async () => {
  const body = JSON.stringify({ error: { message: 'Full.', type: 'rate_limit_error', code: 'rate_limited' } })
  for (const retryAfter of [null, '7']) {
    engine.answer((response) => {
      if (retryAfter !== null) response.setHeader('retry-after', retryAfter)
      response.writeHead(429, { 'content-type': 'application/json' }).end(body)
    })
    const answer = await client.post(path, { model: id, messages: [] })
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe(retryAfter ?? '5')
    expect(answer.body.error.code).toBe('rate_limited')
  }
})

test('embeddings of a chat model and chat with an embedding model: 400 before anything reaches the engine', async () => {
  const received = engine.requests.length
  for (const [each, model, right] of [
    ['/v1/embeddings', id, path],
    ['/v1/embeddings', 'berth-tiny', path],
    [path, embeddingId, '/v1/embeddings'],
    [path, embeddingId, '/v1/embeddings'],
  ] as const) {
    const answer = await client.post(each, { model, input: 'a', messages: [], stream: true })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    const message = expect.stringContaining(right)
    expect(answer.body.error).toMatchObject({
      type: 'invalid_request_error',
      code: 'invalid_request_error',
      message,
    })
  }
  expect(engine.requests).toHaveLength(received)
})

test('duplicate `model` keys are all rewritten, so that the engine uses the model that the gateway checked', async () => {
  await client.request(
    'POST',
    path,
    `{"model":"berth-embedding-of-others","messages":[],"mod\\u0065l":"${id}"}`,
  )
  expect(engine.last().body).toBe('{"model":"berth-tiny","messages":[],"mod\\u0065l":"berth-tiny"}')
})

test('the engine receives its own key, never the caller’s cookie or Authorization', async () => {
  await call(JSON.stringify({ model: id }), {
    headers: { authorization: 'Bearer sk-callers', 'x-api-key': 'sk-other', 'x-forwarded-for': '1.2.3.4' },
  })
  const { headers } = engine.last()
  expect(headers.authorization).toBe(`Bearer ${deriveEngineKey(server.application.secretKey, id)}`)
  expect(headers.cookie).toBeUndefined()
  expect(JSON.stringify(headers)).not.toMatch(/sk-|1\.2\.3\.4|session/)
})

test.each([
  [200, 'application/json; charset=utf-8', '{ "a" : 1.0,\n"b":"\\u00e9" }\n'],
  [400, 'application/json', '{"error":{"message":"too long"}}'],
  [429, 'text/plain', 'slow down'],
  [500, 'text/html', '<h1>no</h1>'],
])(
  'a %i from the engine is forwarded unchanged: status, content type and body',
  async (status, type, body) => {
    engine.answer((response) =>
      response.writeHead(status, { 'content-type': type, 'retry-after': '3' }).end(body),
    )
    const answer = await call(JSON.stringify({ model: id }))
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe(type)
    expect(answer.headers.get('retry-after')).toBe('3')
    expect(await answer.text()).toBe(body)
  },
)

test.each([100, 20_000, 200_000, 700_000])(
  'a response of %i bytes passes through unchanged, the engine’s name of the model too',
  async (length) => {
    const data = JSON.stringify('x'.repeat(length))
    for (const body of [
      `{"id":"é","model": "berth-tiny","choices":[${data}]}`,
      `{"data":[${data}],"model":"org/weights.gguf","usage":{"prompt_tokens":1}}`,
    ]) {
      engine.answer((response) => answerJson(response, body))
      const answer = await call(JSON.stringify({ model: id }))
      expect((await answer.text()) === body).toBe(true)
    }
  },
)

test('the bytes of a compressed response are forwarded unchanged', async () => {
  const compressed = gzipSync('{"model":"berth-tiny"}')
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(compressed)
  })
  expect(await (await call(JSON.stringify({ model: id }))).text()).toBe('{"model":"berth-tiny"}')
})

const chunk = 'data: {"choices":[{"delta":{"content":"é…"}}]}'
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}'

test.each([true, false])(
  'a stream passes through unchanged wherever the engine splits it; include_usage %j',
  async (includes) => {
    const events = ['"delta":{"content":"é"}', '"text":"berth-tiny","finish_reason":"stop"']
      .map((choice) => `data: {"id":"a","model":"berth-tiny","choices":[{${choice}}]}\n\n`)
      .concat(includes ? [`${usage}\n\n`] : [])
      .join('')
    engine.answer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const bytes = Buffer.from(events)
      const writeFrom = (at: number) => {
        response.write(bytes.subarray(at, at + 11))
        if (at + 11 < bytes.length) setImmediate(() => writeFrom(at + 11))
        else response.end()
      }
      writeFrom(0)
    })
    const request = { model: id, stream: true, stream_options: { include_usage: includes } }
    expect(await (await call(JSON.stringify(request))).text()).toBe(events)
  },
)

test('Set-Cookie from an engine is not forwarded', async () => {
  engine.answer((response) => {
    response.setHeader('set-cookie', 'berth_session=stolen')
    answerJson(response, '{}')
  })
  expect((await call(JSON.stringify({ model: id }))).headers.get('set-cookie')).toBeNull()
})

const last = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}'

test.each(['\n\n', '\r\n\r\n'])(
  'stream: true without include_usage: the gateway requests usage and removes the usage chunk, events ended by %j',
  async (end) => {
    engine.answer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const bytes = Buffer.from([': hi', chunk, last, usage, 'data: [DONE]', ''].join(end))
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7))
      response.end()
    })
    const answer = await call(`{"model":"${id}","stream":true,"stream_options":{"x":1.0}}`)
    expect(engine.last().body).toBe(
      `{"model":"berth-tiny","stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true,"x":1.0}}`,
    )
    expect(engine.last().headers.accept).toBe('text/event-stream')
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    expect(await answer.text()).toBe([': hi', chunk, last, 'data: [DONE]', ''].join(end))
  },
)

test('stream: true with include_usage: the response is forwarded unchanged, and so are the options of usage in each event', async () => {
  const text = [chunk, last, usage, 'data: [DONE]', ''].join('\n\n')
  engine.answer((response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text))
  const options = '"stream":true,"stream_options":{ "include_usage": true ,"continuous_usage_stats":true}}'
  const answer = await call(`{"model":"${id}",${options}`)
  expect(engine.last().body).toBe(`{"model":"berth-tiny",${options}`)
  expect(await answer.text()).toBe(text)
})

test('each event of a stream reaches the caller as soon as the engine sends it', async () => {
  const next = Promise.withResolvers<void>()
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`${last}\n\n`)
    void next.promise.then(() => response.end('data: [DONE]\n\n'))
  })
  const reader = (await call(`{"model":"${id}","stream":true}`)).body!.getReader()
  expect(Buffer.from((await reader.read()).value).toString()).toBe(`${last}\n\n`)
  next.resolve()
  expect(Buffer.from((await reader.read()).value).toString()).toBe('data: [DONE]\n\n')
})

test.each(['before', 'after'])(
  'the engine’s request is aborted when the caller disconnects %s the first byte',
  async (when) => {
    engine.answer((response) => {
      if (when === 'before') return
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`${chunk}\n\n`)
    })
    // Afterwards the gateway asks the engine what it counted.
    const chats = () => engine.requests.filter((request) => request.path === path)
    const before = chats().length
    const leaving = new AbortController()
    const answer = call(`{"model":"${id}","stream":true}`, { signal: leaving.signal })
    if (when === 'before') answer.catch(() => {})
    else await (await answer).body!.getReader().read()
    await expect.poll(() => chats().length).toBe(before + 1)
    expect(chats().at(-1)!.aborted).toBe(false)
    leaving.abort()
    await expect.poll(() => chats().at(-1)!.aborted).toBe(true)
    await expect.poll(() => server.application.inference.inFlight.total).toBe(0)
  },
)

test('when an engine breaks off a stream, the caller receives what was sent and sees the truncation', async () => {
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`${chunk}\n\n`, () => response.destroy())
  })
  const reader = (await call(`{"model":"${id}","stream":true}`)).body!.getReader()
  expect(Buffer.from((await reader.read()).value).toString()).toBe(`${chunk}\n\n`)
  await expect(reader.read()).rejects.toThrow()
})

test.each([
  ['before the response', (): void => {}],
  ['within the response', (response: { write(text: string): void }): void => response.write('{"cho')],
])('an engine that breaks off %s: 502 upstream_unavailable', async (_when, begin) => {
  engine.answer((response) => {
    begin(response)
    setImmediate(() => response.destroy())
  })
  const answer = await client.post(path, { model: id })
  expect(answer.status).toBe(502)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.body.error).toMatchObject({ code: 'upstream_unavailable', type: 'server_error' })
})
