import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let plain: TestServer
beforeAll(async () => {
  server = await startTestServer({
    worker: false,
    settings: {
      PUBLIC_URL: 'https://berth.example.com',
      ALLOWED_HOSTS: 'berth.internal, 10.0.0.5',
      TRUST_PROXY: '10.9.9.9',
    },
  })
  plain = await startTestServer({ worker: false })
})
afterAll(async () => {
  await server.close()
  await plain.close()
})

/** Requests a path with a `Host` header, which fetch doesn't allow. */
function get(
  url: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    httpRequest(new URL(path, url), { headers }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (piece: string) => (body += piece))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on('error', reject)
      .end()
  })
}

test('once PUBLIC_URL is set, a host that is not its own, loopback or listed is a 421', async () => {
  for (const host of [
    'evil.example',
    'berth.example.com.evil.example',
    '10.0.0.6:8080',
    'localhost.evil.example',
  ]) {
    for (const path of ['/v1/auth/session', '/v1/models', '/', '/nothing', '/docs']) {
      const answer = await get(server.url, path, { host })
      expect(answer.status, `${host}${path}`).toBe(421)
      expect(answer.body).toContain('ALLOWED_HOSTS')
    }
  }
  const known = [
    'berth.example.com',
    'BERTH.example.com:443',
    'berth.internal',
    '10.0.0.5:8080',
    'localhost:1',
    '127.0.0.1',
    '[::1]:80',
  ]
  for (const host of known)
    expect((await get(server.url, '/v1/auth/session', { host })).status, host).toBe(401)
})

test('health checks may use any host', async () => {
  for (const path of ['/healthz', '/readyz']) {
    expect((await get(server.url, path, { host: '10.244.0.7:8080' })).status).toBe(200)
  }
})

test('without PUBLIC_URL any host is served', async () => {
  expect((await get(plain.url, '/v1/auth/session', { host: 'anything.example' })).status).toBe(401)
})

test('an https PUBLIC_URL sends HSTS with every response; http does not', async () => {
  for (const path of ['/healthz', '/v1/auth/session', '/nothing', '/docs']) {
    expect((await createClient(server.url).get(path)).headers.get('strict-transport-security')).toBe(
      'max-age=31536000',
    )
    expect((await createClient(plain.url).get(path)).headers.get('strict-transport-security')).toBeNull()
  }
})

test('account JSON is not stored by browsers and proxies', async () => {
  const client = await registerClient(plain.url)
  for (const path of ['/v1/auth/session', '/v1/user/profile', '/v1/user/organizations', '/v1/invitations']) {
    const answer = await client.get(path)
    if (path !== '/v1/user/organizations') expect(answer.headers.get('cache-control'), path).toBe('no-store')
  }
  const signedIn = await createClient(plain.url).post('/v1/user/signin', {
    email: client.email,
    password: client.password,
  })
  expect(signedIn.headers.get('cache-control')).toBe('no-store')
  const deployments = await client.get('/api/v1/model-deployments')
  expect(deployments.headers.get('cache-control')).toBe('private, no-cache')
})

test.each(['/docs', '/docs/', '/redoc'])('GET %s: no other site may frame it', async (path) => {
  const policy = (await createClient(plain.url).get(path)).headers.get('content-security-policy')
  expect(policy).toContain("frame-ancestors 'none'")
})

test('GET /metrics on PORT: only for this machine', async () => {
  expect((await get(plain.url, '/metrics', { host: 'localhost' })).status).toBe(200)
  // A proxy on this machine forwards requests of others.
  for (const header of [
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-anything',
    'forwarded',
    'x-real-ip',
    'cdn-loop',
    'x-amzn-trace-id',
    'x-proxyuser-ip',
    'via',
    'cf-connecting-ip',
  ]) {
    const headers = { host: 'localhost', [header]: '192.0.2.1' }
    expect((await get(plain.url, '/metrics', headers)).status, header).toBe(403)
  }
  // DNS rebinding: a browser on this machine reaches it by a name of another site.
  expect((await get(plain.url, '/metrics', { host: 'evil.test' })).status).toBe(403)
  expect(await askByHttp10(plain.url, '/metrics')).toContain(' 403 ')
})

/** The status line of a response to HTTP/1.0, which nginx speaks to its upstreams by default. */
async function askByHttp10(url: string, path: string): Promise<string> {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(`GET ${path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString().split('\r\n', 1)[0]!
}
