import { createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from '../../../support/browser.ts'
import { authorize, client, newPerson, startSsoServer } from '../../../support/oidc-provider.ts'
import type { SsoServer } from '../../../support/oidc-provider.ts'

let now = Date.now()
let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer({ clock: () => new Date(now) })
})
afterEach(() => {
  now = Date.now()
  server.provider.setFault(null)
})
afterAll(() => server.close())

type Opened = Awaited<ReturnType<Browser['open']>>

/** Checks that no session was created and that the redirect to the sign-in page names our error code. */
function expectRefused(answer: Opened, code: string): void {
  expect(answer.status).toBe(302)
  expect(answer.location).toBe(`/sign-in?error=${code}`)
  expect(answer.headers.get('set-cookie')).toBeNull()
  expect(answer.body).toBe('')
}

/** The log records with this message. */
function readLog(message: string): object[] {
  return server.logs.map((text): { msg: string } => JSON.parse(text)).filter(({ msg }) => msg === message)
}

function withQuery(url: URL, changes: Record<string, string | null>): string {
  const changed = new URL(url)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) changed.searchParams.delete(name)
    else changed.searchParams.set(name, value)
  }
  return changed.href
}

function giveFlow(browser: Browser, token: string | undefined): void {
  browser.setCookie('sso_flow', token ?? '', '/v1/sso')
}

async function countAccounts(): Promise<number> {
  return (await server.application.db.selectFrom('users').select('id').execute()).length
}

function forge(header: { alg: string; kid: string }, claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode(header)}.${encode(claims)}`
  if (header.alg === 'none') return `${input}.`
  if (header.alg === 'HS256') {
    return `${input}.${createHmac('sha256', client.secret).update(input).digest('base64url')}`
  }
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
}

describe('GET /v1/sso/callback/{p} refuses', () => {
  test('a replayed callback, from the same browser or from another', async () => {
    const browser = server.browse()
    const callback = await authorize(server, browser, newPerson())
    const flow = browser.cookie('sso_flow')?.value
    expect((await browser.open(callback.href)).location).toBe('/')
    giveFlow(browser, flow)
    expectRefused(await browser.open(callback.href), 'sso_flow_expired')
    const thief = server.browse()
    giveFlow(thief, flow)
    expectRefused(await thief.open(callback.href), 'sso_flow_expired')
  })

  test('all but one of 10 concurrent equal callbacks', async () => {
    const browser = server.browse()
    const callback = await authorize(server, browser, newPerson())
    const answers = await Promise.all(Array.from({ length: 10 }, () => browser.open(callback.href)))
    expect(answers.filter(({ location }) => location === '/')).toHaveLength(1)
    for (const answer of answers.filter(({ location }) => location !== '/')) {
      expectRefused(answer, 'sso_flow_expired')
    }
  })

  test('a wrong, missing or repeated state, without ending the flow', async () => {
    const browser = server.browse()
    const callback = await authorize(server, browser, newPerson())
    const state = callback.searchParams.get('state') ?? ''
    for (const odd of ['A'.repeat(43), '', state.toLowerCase(), `${state}x`, '%00', '\u0000']) {
      expectRefused(await browser.open(withQuery(callback, { state: odd })), 'sso_flow_expired')
    }
    expectRefused(await browser.open(withQuery(callback, { state: null })), 'sso_flow_expired')
    expectRefused(await browser.open(`${callback.href}&state=${state}`), 'sso_flow_expired')
    // The provider returns without a query after a sign-out.
    expect((await browser.open('/v1/sso/callback/oidc')).location).toBe('/sign-in')
    expect((await browser.open(callback.href)).location).toBe('/')
  })

  test('a callback in a browser without a flow or with another flow (login CSRF)', async () => {
    const attacker = server.browse()
    const callback = await authorize(server, attacker, newPerson())
    expectRefused(await server.browse().open(callback.href), 'sso_flow_expired')
    const victim = server.browse()
    await victim.open('/v1/sso/login/oidc')
    expectRefused(await victim.open(callback.href), 'sso_flow_expired')
  })

  test('a code of another flow (PKCE and nonce)', async () => {
    const victim = server.browse()
    const stolen = await authorize(server, victim, newPerson())
    const attacker = server.browse()
    const own = await authorize(server, attacker, newPerson())
    const code = stolen.searchParams.get('code') ?? ''
    expectRefused(await attacker.open(withQuery(own, { code })), 'sso_failed')
  })

  test('an invented, empty, missing or repeated code', async () => {
    for (const code of ['made-up', '', null]) {
      const browser = server.browse()
      const callback = await authorize(server, browser, newPerson())
      expectRefused(await browser.open(withQuery(callback, { code })), 'sso_failed')
    }
    const browser = server.browse()
    const callback = await authorize(server, browser, newPerson())
    expectRefused(await browser.open(`${callback.href}&code=another`), 'sso_failed')
  })

  test('a nonce of another flow', async () => {
    const browser = server.browse()
    const callback = await authorize(server, browser, newPerson())
    await server.application.db.updateTable('sso_flows').set({ nonce: 'another' }).execute()
    expectRefused(await browser.open(callback.href), 'sso_failed')
  })

  test.each([
    ['another issuer', 'https://evil.test'],
    ['no issuer', null],
    ['the issuer with a slash', 'slash'],
  ])('mix-up: %s in the answer', async (_what, iss) => {
    const browser = server.browse()
    const callback = await authorize(server, browser, newPerson())
    expect(callback.searchParams.get('iss')).toBe(server.provider.issuer)
    const changed = iss === 'slash' ? `${server.provider.issuer}/` : iss
    expectRefused(await browser.open(withQuery(callback, { iss: changed })), 'sso_failed')
  })

  test.each([
    ['unsigned', 'none'],
    ['signed with another key', 'RS256'],
    ['signed with the client secret', 'HS256'],
  ])('an ID token that the provider did not sign: %s', async (_what, alg) => {
    const browser = server.browse()
    const accounts = await countAccounts()
    const callback = await authorize(server, browser, newPerson())
    const { nonce } = await server.application.db
      .selectFrom('sso_flows')
      .select('nonce')
      .orderBy('expires_at', 'desc')
      .executeTakeFirstOrThrow()
    const seconds = Math.floor(Date.now() / 1000)
    const claims = { iss: server.provider.issuer, aud: client.id, iat: seconds, exp: seconds + 300, nonce }
    const person = { sub: randomUUID(), email: 'forged@example.com', email_verified: true, name: 'Forged' }
    const idToken = forge({ alg, kid: 'test' }, { ...claims, ...person })
    server.provider.setFault(({ url }, response) => {
      if (url !== '/token') return false
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token: idToken }))
      return true
    })
    expectRefused(await browser.open(callback.href), 'sso_failed')
    expect(await countAccounts()).toBe(accounts)
  })

  test('a sign-in declined at the provider, with our error code and the reason in the log', async () => {
    const browser = server.browse()
    const callback = await authorize(server, browser, null)
    expect(callback.searchParams.get('error_description')).toContain('TEXT OF THE PROVIDER')
    expectRefused(await browser.open(callback.href), 'sso_denied')
    expect(readLog('SSO sign-in failed').at(-1)).toMatchObject({
      outcome: 'denied',
      error: 'access_denied',
      error_description: 'TEXT OF THE PROVIDER',
    })
  })

  test.each([
    ['a JSON body', { 'content-type': 'application/json' }],
    [
      'a challenge',
      { 'www-authenticate': 'Basic error="invalid_client", error_description="Wrong secret."' },
    ],
  ])('a token request that the provider refuses with %s, which the log quotes', async (_, headers) => {
    const browser = server.browse()
    const callback = await authorize(server, browser, newPerson())
    server.provider.setFault(({ url }, response) => {
      if (url !== '/token') return false
      response.writeHead(401, headers)
      response.end(JSON.stringify({ error: 'invalid_client', error_description: 'Wrong secret.' }))
      return true
    })
    expectRefused(await browser.open(callback.href), 'sso_failed')
    expect(readLog('SSO sign-in failed').at(-1)).toMatchObject({
      outcome: 'failed',
      error: 'invalid_client',
      error_description: 'Wrong secret.',
    })
  })

  test('an error text from the query, without echoing it; the log has it on one line', async () => {
    const text = '<script>alert("echo-me")</script>\r\nset-cookie: session=x'
    const browser = server.browse()
    const callback = await authorize(server, browser, newPerson())
    const changes = {
      code: null,
      error: text,
      error_description: text,
      error_uri: 'https://evil.test/echo-me',
    }
    const answer = await browser.open(withQuery(callback, changes))
    expectRefused(answer, 'sso_failed')
    expect(JSON.stringify([...answer.headers])).not.toContain('echo-me')
    expect(readLog('SSO sign-in failed').at(-1)).toMatchObject({
      error: text.replace('\r\n', ' '),
      error_description: text.replace('\r\n', ' '),
    })
  })

  test('a flow older than 10 minutes', async () => {
    const late = server.browse()
    const tooLate = await authorize(server, late, newPerson())
    const early = server.browse()
    const inTime = await authorize(server, early, newPerson())
    const { expires_at } = await server.application.db
      .selectFrom('sso_flows')
      .select('expires_at')
      .orderBy('expires_at', 'desc')
      .executeTakeFirstOrThrow()
    now = expires_at.getTime() - 1
    expect((await early.open(inTime.href)).location).toBe('/')
    now = expires_at.getTime()
    expectRefused(await late.open(tooLate.href), 'sso_flow_expired')
  })
})

test.each([
  'https://evil.test/',
  '//evil.test',
  '///evil.test',
  '/\\evil.test',
  '\\/evil.test',
  '/.//evil.test',
  '/\t/evil.test',
  'javascript:alert(1)',
  '@evil.test',
  '/a\r\nset-cookie: session=x',
])('GET /v1/sso/login/{p}: return_to %j redirects to the home page', async (returnTo) => {
  const browser = server.browse()
  const { location } = await browser.open(`/v1/sso/login/oidc?return_to=${encodeURIComponent(returnTo)}`)
  const callback = await authorize(server, browser, newPerson(), location)
  expect((await browser.open(callback.href)).location).toBe('/')
})

test('GET /v1/sso/login/{p}: a repeated return_to redirects to the home page', async () => {
  const browser = server.browse()
  const { location } = await browser.open('/v1/sso/login/oidc?return_to=/a&return_to=/b')
  const callback = await authorize(server, browser, newPerson(), location)
  expect((await browser.open(callback.href)).location).toBe('/')
})
