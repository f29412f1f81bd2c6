import { request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const publicOrigin = 'https://berth.example.com'
const trustedOrigin = 'https://console.example.com'
const ownHost = 'berth.internal:8080'

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({
    worker: false,
    settings: {
      PUBLIC_URL: publicOrigin,
      ALLOWED_HOSTS: 'berth.internal',
      CSRF_TRUSTED_ORIGINS: `${trustedOrigin}, http://localhost:5173/`,
    },
  })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

/** Sends headers that `fetch` does not allow, as a browser does. */
async function send(method: 'GET' | 'HEAD' | 'POST', path: string, headers: Record<string, string>) {
  const { statusCode, body } = await request(server.url + path, {
    method,
    headers: { host: ownHost, cookie: client.cookie(), ...headers },
  })
  const text = await body.text()
  return { status: statusCode, code: text === '' ? null : (JSON.parse(text) as { code?: string }).code }
}

interface Case {
  site?: string
  origin?: string
  passes: boolean
}

const table: Case[] = [
  { passes: true },
  { site: 'same-origin', passes: true },
  { site: 'none', passes: true },
  { site: 'same-site', passes: false },
  { site: 'cross-site', passes: false },
  { site: 'SAME-ORIGIN', passes: false },
  { site: '', passes: false },
  { site: 'nonsense', passes: false },
  { site: 'same-origin, cross-site', passes: false },
  { origin: publicOrigin, passes: true },
  { origin: `http://${ownHost}`, passes: true },
  { origin: `https://${ownHost}`, passes: true },
  { origin: trustedOrigin, passes: true },
  { origin: 'http://localhost:5173', passes: true },
  { origin: 'http://berth.example.com', passes: false },
  { origin: 'https://berth.example.com:8443', passes: false },
  { origin: 'https://berth.example.com.evil.example', passes: false },
  { origin: 'https://evil.example', passes: false },
  { origin: 'http://berth.internal', passes: false },
  { origin: 'null', passes: false },
  { origin: '', passes: false },
  { origin: 'no origin at all', passes: false },
  { site: 'cross-site', origin: trustedOrigin, passes: true },
  { site: 'same-site', origin: trustedOrigin, passes: true },
  { site: 'same-origin', origin: publicOrigin, passes: true },
  { site: 'same-origin', origin: 'https://evil.example', passes: true },
  { site: 'same-site', origin: publicOrigin, passes: false },
  { site: 'cross-site', origin: publicOrigin, passes: false },
  { site: 'cross-site', origin: `http://${ownHost}`, passes: false },
  { site: 'cross-site', origin: 'null', passes: false },
]

function headersOf({ site, origin }: Case): Record<string, string> {
  return {
    ...(site === undefined ? {} : { 'sec-fetch-site': site }),
    ...(origin === undefined ? {} : { origin }),
  }
}

test.each(table)(
  'POST with Sec-Fetch-Site $site and Origin $origin: passes is $passes',
  async ({ passes, ...headers }) => {
    const answer = await send('POST', '/api/v1/model-deployments', headersOf({ passes, ...headers }))
    // A request that passes fails the next check: its body is missing.
    expect(answer).toEqual(
      passes ? { status: 400, code: 'malformed_json' } : { status: 403, code: 'csrf_rejected' },
    )
  },
)

test('GET and HEAD pass with any headers', async () => {
  for (const row of table) {
    expect((await send('GET', '/v1/auth/session', headersOf(row))).status).toBe(200)
    expect((await send('HEAD', '/v1/auth/session', headersOf(row))).status).toBe(200)
  }
})

test.each([
  ['POST', '/v1/user/signin'],
  ['POST', '/v1/user/register'],
  ['POST', '/v1/user/logout'],
  ['POST', '/api/v1/model-deployments'],
  ['DELETE', '/api/v1/model-deployments/some-id'],
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/completions'],
  ['POST', '/v1/embeddings'],
  ['POST', '/v1/rerank'],
  ['POST', '/v2/rerank'],
  ['POST', '/rerank'],
  ['POST', '/v1/responses'],
  ['POST', '/v1/messages'],
  ['POST', '/tokenize'],
  ['POST', '/no/such/address'],
  ['PUT', '/v1/auth/session'],
])('%s %s from another site is a 403', async (method, path) => {
  for (const each of [client, createClient(server.url)]) {
    const answer = await each.request(method, path, method === 'DELETE' ? undefined : {}, {
      'sec-fetch-site': 'cross-site',
    })
    expect(answer.status).toBe(403)
    expect(JSON.stringify(answer.body)).toMatch(/"csrf_rejected"|"permission_error"/)
  }
  expect((await client.get('/v1/auth/session')).status).toBe(200)
})

test('a cross-site sign-in does not count as a failure and sets no cookie', async () => {
  const { email, password } = await registerClient(server.url)
  for (let time = 0; time < 11; time += 1) {
    const answer = await createClient(server.url).request(
      'POST',
      '/v1/user/signin',
      { email, password: 'wrong' },
      { origin: 'https://evil.example' },
    )
    expect(answer.status).toBe(403)
    expect(answer.headers.get('set-cookie')).toBeNull()
  }
  expect((await createClient(server.url).post('/v1/user/signin', { email, password })).status).toBe(200)
})
