import { request as rawRequest } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildServer } from '../../src/process/server.ts'
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

test.each(pages)('GET %s returns the console', async (path) => {
  const response = await browse(path)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-cache')
  expect(response.headers.get('referrer-policy')).toBe('no-referrer')
  expect(response.headers.get('vary')).toBe('Cookie')
  expect(await response.text()).toContain('<div id="root">')
})

test.each(['GET', 'HEAD'])(
  'scanners that accept anything find the pages that emails link to: %s',
  async (method) => {
    const visit = (path: string) => browse(path, { method, headers: { accept: '*/*' } })
    for (const path of [
      '/invitations/some.token',
      '/reset-password?token=x',
      '/verify-email?token=x',
      '/billing',
    ]) {
      const response = await visit(path)
      expect([response.status, response.headers.get('content-type')], path).toEqual([
        200,
        'text/html; charset=utf-8',
      ])
    }
    expect((await visit('/no-such-page')).status).toBe(404)
  },
)

const browseWith = async (cookie: string, from = server) => {
  const response = await fetch(`${from.url}/sign-in`, { headers: { accept: 'text/html', cookie } })
  return response.text()
}

test('the page has data-session="none" only for requests without a session cookie', async () => {
  const { name } = server.application.config.sessionCookie
  for (const cookie of ['', 'other=1', `${name}=`]) {
    expect(await browseWith(cookie)).toContain('data-session="none"')
  }
  expect(await browseWith(`${name}=any`)).not.toContain('data-session')
})

test('with SameSite=Strict, a missing cookie does not mean that there is no session', async () => {
  const strict = await startTestServer({ worker: false, settings: { SESSION_COOKIE_SAMESITE: 'strict' } })
  try {
    expect(await browseWith('', strict)).not.toContain('data-session')
  } finally {
    await strict.close()
  }
})

test('the page has the theme of the cookie, or else the system theme', async () => {
  expect(await browseWith('theme=dark')).toContain('data-theme="dark"')
  expect(await browseWith('theme=light')).toContain('data-theme="light"')
  for (const cookie of ['', 'theme=', 'theme="><script>']) {
    expect(await browseWith(cookie)).toContain('data-theme="system"')
  }
})

test('the page preloads the code of the first view, for visitors and for users', async () => {
  const { name } = server.application.config.sessionCookie
  const read = (html: string) =>
    [...html.matchAll(/rel="modulepreload"[^>]* href="([^"]+)"/g)].map(([, href]) => href)
  const [visitor, member] = [read(await browseWith('')), read(await browseWith(`${name}=any`))]
  const nameOf = (href = '') => href.replace(/^\/assets\/(.+)-[\w-]{8}\.js$/, '$1')
  expect(visitor.map(nameOf).toSorted()).toEqual(['form', 'password', 'sign-in'])
  expect(member.map(nameOf)).toEqual(['shell'])
  for (const href of [...visitor, ...member]) expect((await browse(href ?? '')).status).toBe(200)
})

test('a page of a member with its own heading preloads its own code', async () => {
  const { name } = server.application.config.sessionCookie
  const load = async (path: string) => {
    const response = await browse(path, { headers: { accept: 'text/html', cookie: `${name}=any` } })
    return response.text()
  }
  const views = {
    '/': ['Deployments', 'deployments-page'],
    '/deployments?show=all': ['Deployments', 'deployments-page'],
    '/catalog/': ['Catalog', 'catalog-page'],
    '/usage': ['Usage', 'usage-page'],
    '/catalog/qwen3': [null, 'model-page'],
    '/playground?deployment=x': [null, 'playground'],
  } as const
  for (const [path, [title, chunk]] of Object.entries(views)) {
    const html = await load(path)
    expect(html.includes('<h1'), path).toBe(title !== null)
    if (title !== null) expect(html).toMatch(new RegExp(`<h1[^>]*>${title}</h1>`))
    expect(html).toMatch(new RegExp(`rel="modulepreload"[^>]* href="/assets/${chunk}-`))
  }
  for (const path of ['/no-such-page', '/catalog/a/b', '/catalog-item', '/..%2findex']) {
    expect(await load(path), path).not.toMatch(/<h1|catalog-page|model-page/)
  }
})

test('GET /: a strict content security policy with a new nonce in each response', async () => {
  const policies = await Promise.all(
    [1, 2].map(async () => {
      const response = await browse('/')
      const policy = response.headers.get('content-security-policy') ?? ''
      const [, nonce] = /'nonce-([^']+)'/.exec(policy) ?? []
      const html = await response.text()
      expect(html).toContain(`nonce="${nonce}"`)
      expect(html).not.toContain('__CSP_NONCE__')
      // No inline scripts: every script has a URL.
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

test('GET /assets/*: precompressed and cached as immutable', async () => {
  const html = await (await browse('/')).text()
  const [script] = /\/assets\/core-[\w-]+\.js/.exec(html) ?? []
  expect(script).toBeDefined()
  for (const encoding of ['br', 'gzip']) {
    const response = await browse(script ?? '', { headers: { 'accept-encoding': encoding } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-encoding')).toBe(encoding)
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(await response.text()).toContain('createElement')
  }
})

test('GET /assets/<unknown>: 404 instead of the console, so that an outdated page can detect it', async () => {
  expect((await browse('/assets/core-00000000.js')).status).toBe(404)
})

test.each([
  '/assets/../../package.json',
  '/assets/..%2f..%2fpackage.json',
  '/assets/%2e%2e/index.html',
  '/assets/',
])('GET %s: nothing outside the assets', async (path) => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    // fetch would normalize the path.
    rawRequest(server.url, { path }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
})

test('an unknown path: the console for browsers, a problem for other clients', async () => {
  const problem = await fetch(`${server.url}/no-such-page`, { headers: { accept: 'application/json' } })
  expect(problem.status).toBe(404)
  expect(problem.headers.get('content-type')).toContain('application/json')
  for (const path of ['/v1/nothing', '/api/v1/nothing', '/sandbox/nothing']) {
    expect((await browse(path)).status).toBe(404)
  }
})

test('/ allows GET and HEAD', async () => {
  const head = await browse('/', { method: 'HEAD' })
  expect(head.status).toBe(200)
  expect(await head.text()).toBe('')
  const post = await browse('/', { method: 'POST' })
  expect(post.status).toBe(405)
  expect(post.headers.get('allow')).toContain('GET')
})

test('a page of the other loopback name redirects to PUBLIC_URL; the API and other hosts do not', async () => {
  const { port } = new URL(server.url)
  const publicUrl = new URL(`http://localhost:${port}`)
  const app = await buildServer({
    ...server.application,
    config: { ...server.application.config, publicUrl },
  })
  const load = (url: string, host: string, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
    app.inject({ method, url, headers: { host: `${host}:${port}`, accept: 'text/html' } })
  for (const path of [...pages, '//evil.test/']) {
    for (const host of ['127.0.0.1', '[::1]']) {
      const answer = await load(path, host)
      expect(answer.statusCode).toBe(302)
      expect(answer.headers.location).toBe(`http://localhost:${port}${path}`)
      expect(answer.headers['cache-control']).toBe('no-store')
    }
    for (const host of ['localhost', '192.0.2.1', 'berth.test', '127.0.0.1:1', '']) {
      expect((await load(path, host)).statusCode).not.toBe(302)
    }
  }
  expect((await load('/v1/auth/session', '127.0.0.1')).statusCode).toBe(401)
  expect((await load('/healthz', '127.0.0.1')).statusCode).toBe(200)
  await app.close()
})
