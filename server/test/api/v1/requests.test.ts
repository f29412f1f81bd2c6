import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { pruneRequests } from '../../../src/features/metering/request-log.ts'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../support/recording-engine.ts'
import type { RecordingEngine } from '../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../support/scripted-runtime.ts'
import type { ScriptedRuntime } from '../../support/scripted-runtime.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const deployments = '/api/v1/model-deployments'
const answer =
  '{"usage":{"prompt_tokens":30,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":10}}}'

let engine: RecordingEngine
let runtime: ScriptedRuntime
let server: TestServer
let client: Client
let id: string
beforeAll(async () => {
  engine = await startRecordingEngine()
  runtime = createScriptedRuntime(engine.url)
  server = await startTestServer({ runtime })
})
beforeEach(async () => {
  runtime.reset()
  engine.answer((response) => answerJson(response, answer))
  client = await registerClient(server.url)
  id = (await client.post(deployments, { model_name: 'berth-tiny' })).body.id
  await client.request('PATCH', `${deployments}/${id}`, { alias: `chat-${randomUUID()}` })
  await waitForStatus(client, id, 'running')
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

function chat(body: object = {}, headers: Record<string, string> = {}, signal: AbortSignal | null = null) {
  return fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: id, messages: [{ role: 'user', content: 'a secret' }], ...body }),
    signal,
  })
}

async function list(query = '', path = '/v1/requests', as = client) {
  await server.application.tokens.flush()
  const { status, body } = await as.get(`${path}${query}`)
  expect(status).toBe(200)
  return body
}

const waitFor = (count: number) => expect.poll(async () => (await list()).items.length).toBe(count)

test('GET /v1/requests: a request has its deployment, tokens, times and client, and never its content', async () => {
  const response = await chat({}, { 'user-agent': 'OpenAI/Python 2.1.0', 'x-stainless-retry-count': '2' })
  await response.text()
  const { items, next_cursor, currency } = await list()
  expect({ next_cursor, currency }).toEqual({ next_cursor: null, currency: 'usd' })
  const { alias } = (await client.get(`${deployments}/${id}`)).body
  expect(items).toEqual([
    {
      id: response.headers.get('x-request-id'),
      at: expect.any(String),
      deployment: { id, name: alias },
      model: 'berth-tiny',
      route: '/v1/chat/completions',
      status: 200,
      input_tokens: 30,
      cached_tokens: 10,
      output_tokens: 4,
      time_to_first_token_ms: null,
      duration_ms: expect.any(Number),
      cost: expect.stringMatching(/^0(\.\d+)?$/),
      client: 'OpenAI/Python 2.1.0',
      retry: 2,
      caller_left: false,
    },
  ])
  const rows = await server.application.db.selectFrom('request_log').selectAll().execute()
  expect(JSON.stringify(rows)).not.toContain('a secret')
})

test('GET /v1/requests: a stream has the time to its first token; the log is complete before the response ends', async () => {
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n')
  })
  await (await chat({ stream: true })).text()
  expect((await list()).items).toMatchObject([
    { status: 200, output_tokens: 2, time_to_first_token_ms: expect.any(Number), caller_left: false },
  ])
})

test('GET /v1/requests: a caller who leaves has `caller_left`, and 499 if there was no response', async () => {
  const arrived = new Promise<void>((resolve) => engine.answer(() => resolve()))
  const abort = new AbortController()
  const asked = chat({}, {}, abort.signal)
  await arrived
  abort.abort()
  await expect(asked).rejects.toThrow('aborted')
  await waitFor(1)
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
  })
  const leaving = new AbortController()
  const stream = await chat({ stream: true }, {}, leaving.signal)
  await stream.body!.getReader().read()
  leaving.abort()
  await waitFor(2)
  expect((await list()).items).toMatchObject([
    { status: 200, caller_left: true },
    { status: 499, caller_left: true },
  ])
})

test('GET /v1/requests: errors of the engine and refusals are in the log; what names no model is not', async () => {
  expect((await chat({ model: 'un\u0000known\ud800' })).status).toBe(404)
  expect((await chat({ model: 'unknown' })).status).toBe(404)
  engine.answer((response) => answerJson(response, '{"error":{"message":"No."}}', 429))
  expect((await chat()).status).toBe(429)
  engine.answer((response) => response.destroy())
  expect((await chat()).status).toBe(502)
  expect((await chat({ model: 3 })).status).toBe(400)
  expect((await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body: '{}' })).status).toBe(401)
  await waitFor(4)
  expect((await list()).items).toMatchObject([
    { status: 502, deployment: { id }, input_tokens: null, cost: null },
    { status: 429, deployment: { id }, input_tokens: null },
    { status: 404, deployment: null, model: 'unknown', route: '/v1/chat/completions', caller_left: false },
    { status: 404, deployment: null, model: 'un?known\ufffd' },
  ])
})

test('GET /v1/requests: a caller who leaves while a deployment wakes is in the log', async () => {
  await client.post(`${deployments}/${id}/sleep`)
  await waitForStatus(client, id, 'sleeping')
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: '…' }) })
  const abort = new AbortController()
  const asked = chat({}, {}, abort.signal)
  await expect.poll(() => server.application.inference.waking.held).toBe(1)
  abort.abort()
  await expect(asked).rejects.toThrow('aborted')
  await waitFor(1)
  expect((await list()).items).toMatchObject([{ status: 499, caller_left: true }])
})

test('GET /v1/requests: filters by model, status and time, and pages that miss nothing', async () => {
  for (const model of [id, 'unknown', id, 'other', id]) await (await chat({ model })).text()
  await waitFor(5)
  const all = (await list()).items
  const ids = async (query: string) => (await list(query)).items.map((item: { id: string }) => item.id)
  const having = (keep: (item: { status: number; model: string; at: string }) => boolean) =>
    all.filter(keep).map((item: { id: string }) => item.id)
  expect(await ids('?model=other')).toEqual(having(({ model }) => model === 'other'))
  expect(await ids('?status=404')).toEqual(having(({ status }) => status === 404))
  expect(await ids('?status=2xx&status=5xx')).toEqual(having(({ status }) => status === 200))
  const { at } = all[2]
  expect(await ids(`?from=${at}`)).toEqual(having((item) => item.at >= at))
  expect(await ids(`?to=${at}`)).toEqual(having((item) => item.at < at))
  const paged: string[] = []
  let cursor = ''
  do {
    const { items, next_cursor } = await list(`?limit=2${cursor}`)
    paged.push(...items.map((item: { id: string }) => item.id))
    cursor = next_cursor === null ? '' : `&cursor=${next_cursor}`
  } while (cursor !== '')
  expect(paged).toEqual(having(() => true))
})

test.each(['status=2', 'status=600', 'from=now', 'limit=0', 'limit=501', 'cursor=x', 'model='])(
  'GET /v1/requests?%s is a 422',
  async (query) => {
    const { status, body } = await client.get(`/v1/requests?${query}`)
    expect(status).toBe(422)
    expect(body.errors[0]).toMatchObject({ location: 'query' })
  },
)

test('GET …/{id}/requests: owners and admins see who asked, others nothing; own requests stay own', async () => {
  await (await chat()).text()
  const stranger = await registerClient(server.url)
  expect((await stranger.get(`${deployments}/${id}/requests?scope=organization`)).status).toBe(404)
  expect((await list('', '/v1/requests', stranger)).items).toEqual([])
  const { email, id: userId } = (await client.get('/v1/auth/session')).body.user
  expect(await list('', `${deployments}/${id}/requests`)).toMatchObject({
    items: [{ status: 200, deployment: { id }, user: { id: userId, email } }],
    next_cursor: null,
  })
  expect((await list('?status=4xx', `${deployments}/${id}/requests`)).items).toEqual([])
})

test('GET /v1/requests: kept for REQUEST_LOG_RETENTION; `off` keeps none', async () => {
  await (await chat()).text()
  await waitFor(1)
  const { db } = server.application
  const [{ at }] = (await list()).items
  await pruneRequests(db, new Date(at), 0)
  expect((await list()).items).toHaveLength(1)
  await pruneRequests(db, new Date(Date.parse(at) + 1_001), 1_000)
  expect((await list()).items).toEqual([])
  const off = await startTestServer({
    runtime: createScriptedRuntime(engine.url),
    settings: { REQUEST_LOG_RETENTION: 'off' },
  })
  try {
    const other = await registerClient(off.url)
    const body = { model: 'unknown', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await other.post('/v1/chat/completions', body)).status).toBe(404)
    await off.application.tokens.flush()
    expect((await other.get('/v1/requests')).body.items).toEqual([])
  } finally {
    await off.close()
  }
})

test('a person’s export has their requests; deleting the account deletes them', async () => {
  await (await chat()).text()
  await waitFor(1)
  const exported = (await client.get('/v1/user/export')).body
  expect(exported.requests).toMatchObject([{ model: 'berth-tiny', status: 200, deployment_id: id }])
  const { db } = server.application
  const read = () => db.selectFrom('request_log').select('id').where('deployment_id', '=', id).execute()
  expect(await read()).toHaveLength(1)
  // A process writes late what it has in memory.
  const late = await db.selectFrom('request_log').selectAll().where('deployment_id', '=', id).execute()
  expect((await client.request('DELETE', '/v1/user', { password: 'correct horse battery' })).status).toBe(204)
  expect(await read()).toEqual([])
  await db.insertInto('request_log').values(late).execute()
  await pruneRequests(db, new Date(), 86_400_000)
  expect(await read()).toEqual([])
})
