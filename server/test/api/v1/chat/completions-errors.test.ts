import { request as httpRequest } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Answer } from '../../../support/client.ts'
import { waitForStatus } from '../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const bodyLimit = 2048
const runtime = createScriptedRuntime()

let server: TestServer
let client: Awaited<ReturnType<typeof registerClient>>
const engines: RecordingEngine[] = []
beforeAll(async () => {
  server = await startTestServer({ runtime, settings: { INFERENCE_BODY_LIMIT: `${bodyLimit}B` } })
  client = await registerClient(server.url)
  for (let count = 0; count < 2; count += 1) engines.push(await startRecordingEngine())
})
afterEach(() => runtime.reset())
afterAll(async () => {
  await server.close()
  for (const engine of engines) await engine.close()
})

/** Expects exactly an error in OpenAI's shape. */
function expectOpenAiError(answer: Answer, status: number, code: string, type: string): void {
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.body).toEqual({ error: { message: expect.stringMatching(/\S/), type, param: null, code } })
  expect(answer.status).toBe(status)
}

const invalid = 'invalid_request_error'
const json = { 'content-type': 'application/json' }

test.each(['/v1/chat/completions', '/v1/embeddings'])(
  'POST %s: every error has OpenAI’s shape',
  async (path) => {
    const signedOut = createClient(server.url)
    expectOpenAiError(await signedOut.post(path, {}), 401, 'not_authenticated', 'authentication_error')
    const crossSite = await client.request('POST', path, { model: 'x' }, { 'sec-fetch-site': 'cross-site' })
    expectOpenAiError(crossSite, 403, 'csrf_rejected', 'permission_error')
    const plain = await client.request('POST', path, '{"model":"x"}', { 'content-type': 'text/plain' })
    expectOpenAiError(plain, 415, 'unsupported_media_type', invalid)
    for (const body of [
      '{"model":',
      '[]',
      '"x"',
      '{}',
      '{"model":""}',
      '{"model":null}',
      '{"model":["x"]}',
    ]) {
      expectOpenAiError(await client.request('POST', path, body), 400, invalid, invalid)
    }
    expectOpenAiError(await client.request('POST', path, '', json), 400, 'malformed_json', invalid)
    expectOpenAiError(await client.request('POST', path), 400, 'malformed_json', invalid)
  },
)

test('POST /v1/chat/completions: a body larger than INFERENCE_BODY_LIMIT is a 413, a body of exactly that size is read', async () => {
  const filled = (length: number) => `{"model":"none","x":"${'x'.repeat(length - 23)}"}`
  expect(filled(bodyLimit)).toHaveLength(bodyLimit)
  const over = await client.request('POST', '/v1/chat/completions', filled(bodyLimit + 1))
  expectOpenAiError(over, 413, 'body_too_large', invalid)
  const atLimit = await client.request('POST', '/v1/chat/completions', filled(bodyLimit))
  expectOpenAiError(atLimit, 404, 'model_not_found', invalid)
})

test('POST /v1/chat/completions: a chunked body larger than INFERENCE_BODY_LIMIT is a 413', async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { ...json, cookie: client.cookie() }
    const request = httpRequest(
      `${server.url}/v1/chat/completions`,
      { method: 'POST', headers },
      (response) => {
        response.resume()
        resolve(response.statusCode)
      },
    )
    request.on('error', reject)
    request.write('x'.repeat(bodyLimit))
    request.write('x')
    request.end()
  })
  expect(status).toBe(413)
})

const packers = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

/** Sends a body by the exact path, which the fast path serves, and by one that only Fastify serves. */
async function sendBothWays(path: string, body: Buffer | string, encoding: string): Promise<Answer> {
  await client.post(path, {})
  const [fast, slow] = await Promise.all(
    [path, `${path}?`].map((url) =>
      client.request('POST', url, body, { ...json, 'content-encoding': encoding }),
    ),
  )
  const seen = ({ status, body }: Answer) => ({ status, ...body, request_id: null })
  expect(seen(fast!)).toEqual(seen(slow!))
  expect(fast!.headers.get('accept-encoding')).toBe(slow!.headers.get('accept-encoding'))
  return fast!
}

test.each([
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/tokenize',
])('POST %s: a compressed body is read, one above the limit is a 413, another coding a 415', async (path) => {
  const text = '{"model":"no-such-model","messages":[],"max_tokens":1}'
  for (const [encoding, pack] of Object.entries(packers)) {
    const read = await sendBothWays(path, pack(text), encoding)
    expect(read.status).toBe(404)
    expect(JSON.stringify(read.body)).toContain('no-such-model')
    const bomb = await sendBothWays(path, pack(Buffer.alloc(1_000_000)), encoding)
    expect(bomb.status).toBe(413)
    expect(JSON.stringify(bomb.body)).toContain('2,048 bytes')
    expect((await sendBothWays(path, text, encoding)).status).toBe(400)
    expect((await sendBothWays(path, Buffer.concat([pack('{'), pack('}')]), encoding)).status).toBe(400)
  }
  expect((await sendBothWays(path, text, 'identity')).status).toBe(404)
  for (const encoding of ['compress', 'gzip, gzip']) {
    const other = await sendBothWays(path, text, encoding)
    expect(other.status).toBe(415)
    expect(other.headers.get('accept-encoding')).toBe('gzip, deflate, br, zstd')
  }
})

test.each(['no-such-model', 'a\0b', '\ud800', "' OR 1=1 --", '01890000-0000-7000-8000-000000000000'])(
  'POST /v1/chat/completions: the unknown model %j is a 404 model_not_found',
  async (model) => {
    const answer = await client.post('/v1/chat/completions', { model, messages: [] })
    expectOpenAiError(answer, 404, 'model_not_found', invalid)
  },
)

async function create(person = client): Promise<string> {
  return (await person.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).body.id
}

test('POST /v1/chat/completions: a deployment that is not running yet is a 503 deployment_not_ready with Retry-After', async () => {
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Soon.' }) })
  const id = await create()
  await waitForStatus(client, id, 'deploying')
  for (const model of [id, `dep-${id}`, 'berth-tiny']) {
    const answer = await client.post('/v1/chat/completions', { model, messages: [] })
    expectOpenAiError(answer, 503, 'deployment_not_ready', 'server_error')
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  }
})

test('POST /v1/chat/completions: a failed deployment is a 400 deployment_failed with the reason', async () => {
  const person = await registerClient(server.url)
  runtime.answer({
    provision: () => ({ outcome: 'refused', code: 'quota_exceeded', message: 'No more than two.' }),
  })
  const id = await create(person)
  await waitForStatus(person, id, 'failed')
  const answer = await person.post('/v1/chat/completions', { model: id, messages: [] })
  expectOpenAiError(answer, 400, 'deployment_failed', invalid)
  expect(answer.body.error.message).toContain('quota_exceeded: No more than two.')
})

test('POST /v1/chat/completions: if no deployment of a model is running, the newest one decides the error', async () => {
  const person = await registerClient(server.url)
  const ask = () => person.post('/v1/chat/completions', { model: 'berth-tiny', messages: [] })
  runtime.answer({ provision: () => ({ outcome: 'refused', code: 'quota_exceeded', message: 'No.' }) })
  await waitForStatus(person, await create(person), 'failed')
  expect((await ask()).body.error.code).toBe('deployment_failed')
  runtime.reset()
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Soon.' }) })
  await waitForStatus(person, await create(person), 'deploying')
  expect((await ask()).body.error.code).toBe('deployment_not_ready')
})

test('POST /v1/chat/completions: an engine that refuses the connection is a 502 upstream_unavailable', async () => {
  const id = await create()
  await waitForStatus(client, id, 'running')
  const answer = await client.post('/v1/chat/completions', { model: id, messages: [] })
  expectOpenAiError(answer, 502, 'upstream_unavailable', 'server_error')
})

/** Runs one deployment of the same model per URL. Nothing needs to listen at a URL. */
async function deployAt(urls: string[]) {
  const person = await registerClient(server.url)
  for (const baseUrl of urls) {
    runtime.answer({ ensureEngine: () => ({ phase: 'ready', endpoint: { baseUrl } }) })
    await waitForStatus(person, await create(person), 'running')
  }
  return { ask: () => person.post('/v1/chat/completions', { model: 'berth-tiny', messages: [] }) }
}

test('requests for a model go to the deployment with the fewest requests in flight', async () => {
  const { ask } = await deployAt(engines.map(({ url }) => url))
  const held = Promise.withResolvers<void>()
  for (const engine of engines)
    engine.answer((response) => void held.promise.then(() => answerJson(response, '{}')))
  const counts = () => engines.map(({ requests }) => requests.length)
  const answers = []
  for (let sent = 1; sent <= 6; sent += 1) {
    answers.push(ask())
    await expect.poll(() => counts()[0]! + counts()[1]!).toBe(sent)
  }
  expect(counts()).toEqual([3, 3])
  held.resolve()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(6).fill(200))
})

test('requests fail over from a deployment that refuses the connection to another one of the same model', async () => {
  const { ask } = await deployAt([engines[0]!.url, 'http://127.0.0.1:9'])
  engines[0]!.answer((response) => answerJson(response, '{}'))
  const answers = await Promise.all([ask(), ask(), ask()])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
})

test('POST /v1/chat/completions: an engine’s 401 is a 502 upstream_unavailable, and the log names SECRET_KEY', async () => {
  const [engine] = engines
  engine!.answer((response) => answerJson(response, '{"error":{"message":"Invalid API key"}}', 401))
  const { ask } = await deployAt([engine!.url])
  const answer = await ask()
  expectOpenAiError(answer, 502, 'upstream_unavailable', 'server_error')
  expect(server.logs.join('')).toContain('the engine rejected its key; SECRET_KEY may differ')
})
