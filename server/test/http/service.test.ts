import { afterAll, beforeAll, expect, test } from 'vitest'
import { findFreePort } from '../../src/base/free-port.ts'
import { createClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { createDataDirectory, removeDataDirectory, spawnServer } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  client = createClient(server.url)
})
afterAll(() => server.close())

test.each(['/healthz', '/health', '/readyz'])('GET %s: {"status": "ok"} without a session', async (path) => {
  const answer = await client.get(path)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.body).toEqual({ status: 'ok' })
})

test('GET /metrics: Prometheus’s text format, by route and never by URL', async () => {
  await client.get('/api/v1/model-deployments/a-secret-id')
  const answer = await client.get('/metrics')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=/)
  expect(answer.body).toMatch(/^process_cpu_seconds_total [\d.e-]+$/m)
  const route = 'route="/api/v1/model-deployments/:deployment_id",status="401"'
  expect(answer.body).toContain(`berth_http_request_duration_seconds_count{method="GET",${route}} 1`)
  expect(answer.body).not.toContain('a-secret-id')
  expect(answer.body).toMatch(/^berth_weight_cache_bytes \d+$/m)
  expect(answer.body).toMatch(/^berth_weight_cache_limit_bytes [1-9]\d*$/m)
})

test('the log names the path of unknown routes of the API, without ids, tokens and query', async () => {
  const token = 'q0Hf3Wk9sVb2nXz7LmYtR5cJ8uPaDgE1oI4hB6xKvTM'
  await client.post('/v1/audio/transcriptions?key=xylophone', {})
  await client.get(`/v1/invitations/by-token/${token}/unknown`)
  await client.get(`/invitations/${token}`)
  const lines = () =>
    server.logs
      .filter((line) => line.includes('"route":"none"'))
      .map((line) => (JSON.parse(line) as { path?: string }).path)
  await expect.poll(lines).toContain('/v1/audio/transcriptions')
  await expect.poll(lines).toContain('/v1/invitations/by-token/*/unknown')
  expect(server.logs.filter((line) => line.includes(token) || line.includes('xylophone'))).toEqual([])
})

test.each([
  ['authorization', 'Bearer sk-anything'],
  ['x-api-key', 'anything'],
])('a key in %s without a session: 401 that says that there are no keys', async (name, value) => {
  for (const path of ['/v1/models', '/api/v1/model-deployments']) {
    const answer = await client.request('GET', path, undefined, { [name]: value })
    expect(answer.status).toBe(401)
    expect(JSON.stringify(answer.body)).toMatch(
      /Berth has no API keys\. .+`berth connect` adds it .+`npm install --global http:\/\/\S+\/downloads\/berth-cli\.tgz`/,
    )
    expect(JSON.stringify((await client.get(path)).body)).toContain('Sign in first.')
    const cookie = `${server.application.config.sessionCookie.name}=ended`
    const ended = await client.request('GET', path, undefined, { [name]: value, cookie })
    expect(ended.status).toBe(401)
    expect(JSON.stringify(ended.body)).toContain('Your session has ended. Sign in again.')
  }
})

test('every response disables MIME sniffing', async () => {
  for (const path of ['/healthz', '/nothing', '/docs', '/redoc', '/openapi.json']) {
    expect((await client.get(path)).headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test.each(['/docs', '/docs/', '/redoc'])('GET %s: the page works without internet access', async (path) => {
  const page = await client.get<string>(path)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toMatch(/^text\/html/)
  // The content security policy allows no other hosts.
  const policy = page.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'self'")
  expect(policy).not.toMatch(/https?:|\*/)
  const assets = [...page.body.matchAll(/(?:src|href|spec-url)="([^"]+)"/g)].map((match) => match[1] ?? '')
  expect(assets.length).toBeGreaterThan(1)
  for (const asset of assets) {
    const url = new URL(asset, server.url + path)
    expect(url.origin).toBe(server.url)
    const answer = await client.get<string>(url.pathname)
    expect(answer.status, asset).toBe(200)
    if (asset.endsWith('.css')) expect(answer.body).not.toMatch(/url\(["']?(https?:)?\/\//)
  }
})

test('GET /docs: the page loads this server’s description and calls no external validator', async () => {
  const script = (await client.get<string>('/docs/static/swagger-initializer.js')).body
  expect(script).toContain("resolveUrl('./json')")
  expect(script).toContain('validatorUrl: null')
  expect((await client.get('/docs/json')).body).toEqual((await client.get('/openapi.json')).body)
})

test.each([
  '/docs/static/nothing.js',
  '/docs/static/..%2F..%2Fpackage.json',
  '/redoc/',
  '/redoc/package.json',
])('GET %s: a 404', async (path) => {
  const answer = await client.get(path)
  expect(answer.status).toBe(404)
  expect(answer.body.code).toBe('not_found')
})

test('METRICS_PORT: /metrics is served on its own port and not by the API', async () => {
  const database = await createTestDatabase('migrated')
  const dataDirectory = await createDataDirectory()
  const metricsPort = await findFreePort()
  const process = spawnServer({
    DATABASE_URL: database.url,
    DATA_DIR: dataDirectory,
    METRICS_PORT: String(metricsPort),
  })
  try {
    const url = await process.listening
    const api = createClient(url)
    expect((await api.get('/healthz')).status).toBe(200)
    expect((await fetch(`${url}/metrics`)).status).toBe(404)
    expect((await api.get('/openapi.json')).body.paths).not.toHaveProperty('/metrics')
    const metrics = await createClient(`http://127.0.0.1:${metricsPort}`).get<string>('/metrics')
    expect(metrics.status).toBe(200)
    expect(metrics.body).toContain('route="/healthz",status="200"')
    process.child.kill('SIGTERM')
    expect(await process.exited, process.output()).toBe(0)
  } finally {
    process.child.kill('SIGKILL')
    await process.exited
    await removeDataDirectory(dataDirectory)
    await database.drop()
  }
})
