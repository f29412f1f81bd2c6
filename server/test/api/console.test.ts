import { request as rawRequest } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ worker: false })
})

afterAll(() => server.close())

function browse(path: string, options: RequestInit = {}): Promise<Response> {
  return fetch(server.url + path, {
    headers: { accept: 'text/html,*/*;q=0.8' },
    redirect: 'manual',
    ...options,
  })
}

const pages = ['/', '/sign-in?error=x', '/deployments/0193-any', '/invitations/some.token', '/no-such-page']

test.each(pages)('GET %s: the console, whose router reads the address', async (path) => {
  const response = await browse(path)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-cache')
  expect(response.headers.get('referrer-policy')).toBe('no-referrer')
  expect(await response.text()).toContain('<div id="root"></div>')
})

test('GET /: a strict content security policy with a nonce of its own for each answer', async () => {
  const policies = await Promise.all(
    [1, 2].map(async () => {
      const response = await browse('/')
      const policy = response.headers.get('content-security-policy') ?? ''
      const [, nonce] = /'nonce-([^']+)'/.exec(policy) ?? []
      const html = await response.text()
      expect(html).toContain(`nonce="${nonce}"`)
      expect(html).not.toContain('__CSP_NONCE__')
      // Nothing in the page itself runs: every script has an address.
      expect(html.match(/<script(?![^>]*\ssrc=)/g)).toBeNull()
      return policy
    }),
  )
  expect(policies[0]).not.toBe(policies[1])
  expect(policies[0]).toContain("default-src 'none'")
  expect(policies[0]).toContain("script-src 'self';")
  expect(policies[0]).not.toContain('unsafe')
  expect(policies[0]).not.toContain('stripe')
})

test('GET /assets/*: compressed beforehand, and kept for good under their hashed names', async () => {
  const html = await (await browse('/')).text()
  const [script] = /\/assets\/index-[\w-]+\.js/.exec(html) ?? []
  expect(script).toBeDefined()
  for (const encoding of ['br', 'gzip']) {
    const response = await browse(script ?? '', { headers: { 'accept-encoding': encoding } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-encoding')).toBe(encoding)
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(await response.text()).toContain('createElement')
  }
})

test('GET /assets/<unknown>: 404, not the console, so that an old page sees that it is old', async () => {
  expect((await browse('/assets/index-00000000.js')).status).toBe(404)
})

test.each([
  '/assets/../../package.json',
  '/assets/..%2f..%2fpackage.json',
  '/assets/%2e%2e/index.html',
  '/assets/',
])('GET %s: nothing outside the assets', async (path) => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    // Not fetch, which would tidy the path up before it is sent.
    rawRequest(server.url, { path }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
})

test('an address that nothing has: a problem for programs, the console for browsers alone', async () => {
  const problem = await fetch(`${server.url}/no-such-page`, { headers: { accept: 'application/json' } })
  expect(problem.status).toBe(404)
  expect(problem.headers.get('content-type')).toContain('application/problem+json')
  for (const path of ['/v1/nothing', '/api/v1/nothing', '/sandbox/nothing']) {
    expect((await browse(path)).status).toBe(404)
  }
})

test('the methods of /: GET and HEAD', async () => {
  const head = await browse('/', { method: 'HEAD' })
  expect(head.status).toBe(200)
  expect(await head.text()).toBe('')
  const post = await browse('/', { method: 'POST' })
  expect(post.status).toBe(405)
  expect(post.headers.get('allow')).toContain('GET')
})
