import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { registerClient } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { engines } from '../support/engines.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import { useEngine } from '../support/use-engine.ts'
import { openRawSocket } from './gateway.ts'

// A stop has three moments: the process takes no new requests, open requests get their last response, and all
// connections close. `prepareClose` sets the times, and these tests set off the moments.

/** Translates messages and responses to chats. */
const used = useEngine(engines.embedded)
const patience = { timeout: 60_000, interval: 20 }
const sentence = 'The server is stopping. Send the request again.'

const chunk = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
const messages = [{ role: 'user', content: 'q' }]
const bodies: Record<string, object> = {
  '/v1/chat/completions': { messages },
  '/v1/completions': { prompt: 'q' },
  '/v1/messages': { messages, max_tokens: 9 },
  '/v1/responses': { input: 'q' },
}

/** Sends a request, and resolves to its response once that has begun. */
function send(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const { server, client } = used
  return fetch(server.url + path, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...bodies[path], ...body }),
  })
}

test('shortly before all connections close, every open request gets an error of its protocol', async () => {
  const { engine, server, client, id } = used
  const silent = [
    ['/v1/chat/completions', {}],
    ['/v1/messages', {}],
    ['/v1/responses', {}],
    // Fastify takes these, and the fast path the others.
    ['/v1/chat/completions', { 'x-forwarded-host': 'localhost' }],
    ['/v1/completions', { 'x-forwarded-host': 'localhost' }],
  ] as const
  engine.answer(() => {})
  const unanswered = silent.map(([path, headers]) => send(path, { model: id }, headers))
  const waiting = send('/v1/chat/completions', { model: id, stream: true })
  await vi.waitFor(() => expect(engine.requests).toHaveLength(silent.length + 1), patience)

  // The last event is incomplete.
  engine.answer((response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`${chunk('one ')}${chunk('two ')}data: {"choi`)
  })
  const streams = ['/v1/chat/completions', '/v1/messages', '/v1/responses']
  const begun = await Promise.all(streams.map((path) => send(path, { model: id, stream: true })))
  const readers = begun.map((response) => response.body!.pipeThrough(new TextDecoderStream()).getReader())
  const texts = await Promise.all(
    readers.map(async (reader) => {
      let text = ''
      while (!text.includes('two ')) text += (await reader.read()).value ?? expect.fail(text)
      return text
    }),
  )

  const body = await openRawSocket(server.url)
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: localhost',
    `cookie: ${client.cookie()}`,
    'content-type: application/json',
    'content-length: 1000',
  ]
  body.write(`${head.join('\r\n')}\r\n\r\n{`)
  const locked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const lock = server.application.db.transaction().execute(async (transaction) => {
    await sql`LOCK TABLE deployment_events IN ACCESS EXCLUSIVE MODE`.execute(transaction)
    locked.resolve()
    await released.promise
  })
  await locked.promise
  const blocked = client.get(`/api/v1/model-deployments/${id}/events`)
  await vi.waitFor(async () => {
    const { rows } = await sql`SELECT FROM pg_locks WHERE NOT granted`.execute(server.application.db)
    expect(rows).toHaveLength(1)
  }, patience)

  const lines = server.logs.length
  server.app.ending.abort()
  for (const response of await Promise.all([...unanswered, waiting])) {
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({ error: { message: sentence } })
  }
  const rests = await Promise.all(
    readers.map(async (reader, index) => {
      let text = texts[index]!
      for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value
      return text
    }),
  )
  const lastEvents = rests.map((text) => text.split('\n\n').at(-2))
  expect(lastEvents).toEqual([
    expect.stringMatching(/^data: \{"error":.*"code":"server_stopping"/),
    expect.stringMatching(/^event: error\ndata: \{"type":"error"/),
    expect.stringMatching(/^event: response\.failed\ndata: \{"type":"response\.failed"/),
  ])
  for (const event of lastEvents) expect(event).toContain(sentence)
  await vi.waitFor(() => expect(body.closed).toBe(true), patience)
  expect(body.text()).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1\r\n.*"code":"server_stopping"/s)
  expect(await blocked).toMatchObject({ status: 503, body: { code: 'server_stopping' } })
  expect((await blocked).headers.get('retry-after')).toBe('1')
  released.resolve()
  await lock

  // The engines know, what they generated is billed, and the log says who ended the requests.
  await vi.waitFor(() => expect(engine.requests.every(({ aborted }) => aborted)).toBe(true), patience)
  await vi.waitFor(async () => {
    await server.application.tokens.flush()
    const { body: usage } = await client.get(`/api/v1/model-deployments/${id}/usage`)
    expect(usage).toMatchObject({ requests: streams.length, output_tokens: 2 * streams.length })
  }, patience)
  const brokenBy = server.logs
    .slice(lines)
    .map((line) => JSON.parse(line) as { route?: string; stream?: boolean; broken_by?: string })
    .filter(({ stream }) => stream !== undefined)
  expect(brokenBy).toHaveLength(silent.length + 1 + streams.length)
  for (const line of brokenBy) expect(line.broken_by).toBe('shutdown')
})

test('requests that wait for a start are refused when the server takes no new ones', async () => {
  const runtime = createScriptedRuntime()
  const server = await startTestServer({ runtime })
  onTestFinished(() => server.close())
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  expect((await client.post(`/api/v1/model-deployments/${id}/sleep`)).status).toBe(200)
  await waitForStatus(client, id, 'sleeping')
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Starting.' }) })
  const ask = (stream: boolean) => client.post('/v1/chat/completions', { messages, model: id, stream })
  const held = [ask(false), ask(true)]
  await vi.waitFor(() => expect(server.application.inference.waking.held).toBe(2), patience)
  void server.app.close()
  for (const answer of await Promise.all(held)) {
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'server_stopping' } } })
    expect(answer.headers.get('retry-after')).toBe('1')
  }
})
