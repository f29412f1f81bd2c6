import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/v1/chat/completions'

let engine: RecordingEngine
let server: TestServer
let client: Client
beforeAll(async () => {
  engine = await startRecordingEngine()
  const settings = { PUBLIC_URL: 'https://berth.example.com', INFERENCE_BODY_LIMIT: '20000B' }
  server = await startTestServer({ runtime: createScriptedRuntime(engine.url), settings })
  client = await registerClient(server.url)
  const { body } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  await waitForStatus(client, body.id, 'running')
  engine.answer((response) => answerJson(response, '{"model":"dep","choices":[]}'))
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

const message = { model: 'berth-tiny', messages: [{ role: 'user', content: 'Hello' }] }
const times = new Set(['date', 'x-request-id'])

/**
 * Sends a body by the exact path, which the fast path serves for a cached session, and with a query, which
 * only Fastify serves.
 */
async function sendBothWays(body: string) {
  const send = async (url: string) => {
    const { status, headers, body: answer } = await client.request('POST', url, body)
    const kept = Object.fromEntries([...headers].filter(([name]) => !times.has(name)))
    return { status, headers: kept, body: answer }
  }
  return { fast: await send(path), slow: await send(`${path}?`) }
}

test.each([
  ['an answer', JSON.stringify(message), 200],
  ['an unknown model', JSON.stringify({ ...message, model: 'none' }), 404],
  ['an embedding model', JSON.stringify({ ...message, model: 'berth-tiny-embedding' }), 404],
  ['an invalid body', '{"model":', 400],
  ['no model', '{}', 400],
  ['a body that is too large', JSON.stringify({ ...message, x: 'x'.repeat(20_000) }), 413],
] as const)('both ways give the same status, headers and body: %s', async (_what, body, status) => {
  // The first request of a session puts it into the cache.
  await client.request('POST', path, JSON.stringify(message))
  const { fast, slow } = await sendBothWays(body)
  expect(fast).toEqual(slow)
  expect(fast.status).toBe(status)
  expect(fast.headers).toMatchObject({ 'strict-transport-security': 'max-age=31536000' })
})

test('both ways are logged and measured once', async () => {
  await client.request('POST', path, JSON.stringify(message))
  const before = server.logs.length
  await sendBothWays('{"model":"none"}')
  const lines = () =>
    server.logs.slice(before).flatMap((line) => {
      const { msg, route, status, reqId } = JSON.parse(line) as Record<string, unknown>
      return msg === 'request' && typeof reqId === 'string' ? [{ route, status }] : []
    })
  await expect.poll(lines).toEqual([
    { route: path, status: 404 },
    { route: path, status: 404 },
  ])
})
