import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const trusted = 'https://console.example.com'
const foreign = 'https://evil.example'

let engine: RecordingEngine
let server: TestServer
let client: Client
beforeAll(async () => {
  engine = await startRecordingEngine()
  server = await startTestServer({
    runtime: createScriptedRuntime(engine.url),
    settings: { CSRF_TRUSTED_ORIGINS: `${trusted}, http://localhost:5173/` },
  })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

function call(path: string, options: Omit<RequestInit, 'headers'> & { headers: Record<string, string> }) {
  const { headers, ...rest } = options
  return fetch(server.url + path, { ...rest, headers: { cookie: client.cookie(), ...headers } })
}

function preflight(path: string, origin: string, method = 'POST') {
  const headers = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type, x-stainless-os',
  }
  return fetch(server.url + path, { method: 'OPTIONS', headers })
}

describe('CSRF_TRUSTED_ORIGINS: a page of such an origin', () => {
  test.each([
    ['/v1/auth/session', 'GET'],
    ['/v1/user/signin', 'POST'],
    ['/v1/user/profile', 'PATCH'],
    ['/v1/chat/completions', 'POST'],
    ['/api/v1/model-deployments/some-id', 'DELETE'],
  ])('gets a preflight for %s and %s, without a session', async (path, method) => {
    const answer = await preflight(path, trusted, method)
    expect(answer.status).toBe(204)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': trusted,
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': 'content-type, x-stainless-os',
      'access-control-max-age': '600',
    })
    expect(answer.headers.get('access-control-allow-methods')).toContain(method)
    expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/)
  })

  test('reads responses with their headers, also errors of every kind', async () => {
    const answers = [
      await call('/v1/auth/session', { headers: { origin: trusted } }),
      await call('/v1/auth/session', { headers: { origin: trusted, cookie: '' } }),
      await call('/v1/billing/account/none', { headers: { origin: trusted } }),
      await call('/v1/user/signin', { method: 'POST', headers: { origin: trusted }, body: '{' }),
      await call('/v1/user/signin', { method: 'PUT', headers: { origin: trusted } }),
      await call('/v1/chat/completions', {
        method: 'POST',
        headers: { origin: trusted, 'content-type': 'application/json' },
        body: '{"model":"none"}',
      }),
      await call('/api/v1/deployable-models', { headers: { origin: trusted, 'accept-encoding': 'gzip' } }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 415, 405, 404, 200])
    for (const { url, headers } of answers) {
      expect(headers.get('access-control-allow-origin'), url).toBe(trusted)
      expect(headers.get('access-control-allow-credentials'), url).toBe('true')
      expect(headers.get('access-control-expose-headers'), url).toMatch(/ETag.*Retry-After.*X-Request-Id/)
      expect(headers.get('vary'), url).toMatch(/\bOrigin\b/)
    }
    expect(answers.at(-1)!.headers.get('vary')).toBe('Origin, Accept-Encoding')
  })

  test('signs in with the cookie of the response, and sees its own 304', async () => {
    const first = await call('/v1/organization', { headers: { origin: trusted } })
    const etag = first.headers.get('etag')!
    const again = await call('/v1/organization', { headers: { origin: trusted, 'if-none-match': etag } })
    expect(again.status).toBe(304)
    expect(again.headers.get('access-control-allow-origin')).toBe(trusted)
  })

  test('reads responses of engines, whole and streamed', async () => {
    const { id } = await deploy(client)
    const chat = (body: object) =>
      call('/v1/chat/completions', {
        method: 'POST',
        headers: { origin: trusted, 'content-type': 'application/json' },
        body: JSON.stringify({ model: id, messages: [], ...body }),
      })
    engine.answer((response) => answerJson(response, '{}'))
    const whole = await chat({})
    engine.answer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'access-control-allow-origin': '*' })
      response.end('data: [DONE]\n\n')
    })
    const streamed = await chat({ stream: true })
    for (const answer of [whole, streamed]) {
      expect(answer.status).toBe(200)
      expect(answer.headers.get('access-control-allow-origin')).toBe(trusted)
      expect(answer.headers.get('vary')).toBe('Origin')
      await answer.text()
    }
    await client.delete(`/api/v1/model-deployments/${id}`)
  })

  test('reads event streams', async () => {
    const { id } = await deploy(client)
    const headers = { origin: trusted, accept: 'text/event-stream' }
    const answer = await call(`/api/v1/model-deployments/${id}/events`, { headers })
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(answer.headers.get('access-control-allow-origin')).toBe(trusted)
    await answer.body!.cancel()
  })

  test('billing pages may redirect to any return_url', async () => {
    const path = '/v1/billing/checkout/setup-session'
    expect((await client.post(path, { return_url: `${foreign}/billing` })).status).toBe(200)
    const portal = await client.post('/v1/billing/portal/session', { return_url: foreign })
    const page = await fetch(server.url + new URL(portal.body.url).pathname)
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain("form-action 'self' http: https:")
  })
})

test.each([
  foreign,
  'null',
  'https://console.example.com.evil.example',
  'http://console.example.com',
  undefined,
])('a page of %s learns nothing and gets no preflight', async (origin) => {
  const headers = origin === undefined ? {} : { origin }
  const read = await call('/v1/auth/session', { headers })
  expect(read.headers.get('access-control-allow-origin')).toBeNull()
  expect(read.headers.get('access-control-allow-credentials')).toBeNull()
  expect(read.headers.get('vary')).toMatch(/\bOrigin\b/)
  const asked = await preflight('/v1/auth/session', origin ?? '')
  expect(asked.status).toBe(405)
  expect(asked.headers.get('access-control-allow-origin')).toBeNull()
})
