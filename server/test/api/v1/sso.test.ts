import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from '../../support/browser.ts'
import { createClient, registerClient } from '../../support/client.ts'
import { authorize, client, newPerson, signInAs, startSsoServer } from '../../support/oidc-provider.ts'
import type { SsoServer } from '../../support/oidc-provider.ts'

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer({ settings: { SSO_DISPLAY_NAME: 'Example Login' } })
})
afterAll(() => server.close())

async function getSession(browser: Browser) {
  return (await browser.open('/v1/auth/session')).body
}

function findUser(email: string) {
  return server.application.db
    .selectFrom('users')
    .selectAll()
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
}

async function countUsers(): Promise<number> {
  return (await server.application.db.selectFrom('users').select('id').execute()).length
}

test('GET /v1/sso/providers: lists the configured provider', async () => {
  const answer = await createClient(server.url).get('/v1/sso/providers')
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    providers: [
      { name: 'oidc', display_name: 'Example Login', configured: true, login_url: '/v1/sso/login/oidc' },
    ],
  })
})

test('GET /v1/sso/login/{p}: redirects to the provider with PKCE, state and nonce, and binds the browser', async () => {
  const browser = server.browse()
  const answer = await browser.open('/v1/sso/login/oidc')
  expect(answer.status).toBe(302)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const url = new URL(answer.location)
  expect(url.origin).toBe(server.provider.issuer)
  expect(Object.fromEntries(url.searchParams)).toEqual({
    client_id: client.id,
    response_type: 'code',
    redirect_uri: `${client.site}/v1/sso/callback/oidc`,
    scope: 'openid email profile',
    code_challenge_method: 'S256',
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
  })
  const cookie = browser.cookie('sso_flow')
  expect(cookie?.attributes.toSorted()).toEqual(
    ['HttpOnly', 'Max-Age=600', 'Path=/v1/sso', 'SameSite=Lax', 'Secure'].toSorted(),
  )
})

test('GET /v1/sso/login/{p}: HEAD begins nothing', async () => {
  for (const path of ['/v1/sso/login/oidc', '/v1/sso/callback/oidc']) {
    const answer = await createClient(server.url).request('HEAD', path)
    expect(answer.status).toBe(405)
    expect(answer.headers.get('set-cookie')).toBeNull()
  }
})

test.each(['login', 'callback'])('GET /v1/sso/%s/{p}: an unknown provider is a 404', async (route) => {
  for (const name of ['other', 'OIDC', 'oidc%20', '%00', '__proto__']) {
    const answer = await createClient(server.url).get(`/v1/sso/${route}/${name}?code=a&state=b`)
    expect(answer.status).toBe(404)
    expect(answer.body.code).toBe('not_found')
    expect(answer.headers.get('set-cookie')).toBeNull()
  }
})

test('GET /v1/sso/callback/{p}: a new person gets an account, an organization and a session', async () => {
  const browser = server.browse()
  const person = newPerson({ given_name: 'Ada', family_name: 'Lovelace', name: 'Ada King' })
  const answer = await signInAs(server, browser, person)
  expect(answer.status).toBe(302)
  expect(answer.location).toBe('/')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(await getSession(browser)).toMatchObject({
    authenticated: true,
    user: {
      email: person.email,
      name: 'Ada King',
      organization: 'Ada King’s organization',
      role: { id: 1, name: 'super_admin' },
      requires_profile_completion: true,
    },
    session: { auth_method: 'oidc' },
  })
  expect(await findUser(person.email)).toMatchObject({
    first_name: 'Ada',
    last_name: 'Lovelace',
    password_hash: null,
    email_verified_at: expect.any(Date),
  })
})

test('GET /v1/sso/callback/{p}: sets the same session cookie as sign-in and clears the flow', async () => {
  const browser = server.browse()
  await signInAs(server, browser, newPerson())
  const attributes = browser.cookie('berth_session')?.attributes
  for (const attribute of ['HttpOnly', 'Path=/', 'SameSite=Lax', 'Secure']) {
    expect(attributes).toContain(attribute)
  }
  expect(browser.cookie('sso_flow')).toBeUndefined()
  expect(await server.application.db.selectFrom('identities').selectAll().execute()).not.toHaveLength(0)
})

test.each([
  [{ name: undefined, given_name: 'Grace', family_name: 'Hopper' }, 'Grace Hopper'],
  [{ name: undefined, given_name: 'Grace' }, 'Grace'],
  [{ name: undefined, email: 'the.admiral@navy.test' }, 'the.admiral'],
  [{ name: '   ', email: 'blank@navy.test' }, 'blank'],
  [{ name: 'line\nbreak', email: 'control@navy.test' }, 'control'],
  [{ name: 'x'.repeat(300), email: 'long@navy.test' }, 'long'],
])('GET /v1/sso/callback/{p}: the claims %j give the name %s', async (claims, name) => {
  const browser = server.browse()
  await signInAs(server, browser, newPerson(claims as never))
  expect((await getSession(browser)).user).toMatchObject({ name, organization: `${name}’s organization` })
})

test('GET /v1/sso/callback/{p}: the same subject is the same account, even with a new email', async () => {
  const person = newPerson()
  const first = server.browse()
  await signInAs(server, first, person)
  const users = await countUsers()
  const again = server.browse()
  await signInAs(server, again, { ...person, email: 'moved@example.com', email_verified: false })
  expect((await getSession(again)).user).toEqual((await getSession(first)).user)
  expect(await countUsers()).toBe(users)
})

test('GET /v1/sso/callback/{p}: issues a new session and revokes the one in the request', async () => {
  const browser = server.browse()
  const person = newPerson()
  await signInAs(server, browser, person)
  const before = browser.cookie('berth_session')?.value
  await signInAs(server, browser, person)
  const after = browser.cookie('berth_session')?.value
  expect(after).not.toBe(before)
  const old = createClient(server.url)
  old.setCookie(`berth_session=${before}`)
  expect((await old.get('/v1/auth/session')).status).toBe(401)
  expect((await getSession(browser)).authenticated).toBe(true)
})

test('GET /v1/sso/callback/{p}: linking an account with a verified email keeps its password and sessions', async () => {
  const person = newPerson()
  const registered = await registerClient(server.url, {
    email: person.email.toUpperCase(),
    organization: 'Kept',
  })
  await server.application.db
    .updateTable('users')
    .set({ email_verified_at: new Date() })
    .where('email', '=', registered.email)
    .execute()
  const browser = server.browse()
  await signInAs(server, browser, person)
  expect((await getSession(browser)).user).toMatchObject({
    email: registered.email,
    organization: 'Kept',
    requires_profile_completion: false,
  })
  expect((await registered.get('/v1/auth/session')).status).toBe(200)
  const { email, password } = registered
  expect((await createClient(server.url).post('/v1/user/signin', { email, password })).status).toBe(200)
})

test('GET /v1/sso/callback/{p}: 8 concurrent first sign-ins of one subject create one account', async () => {
  const person = newPerson()
  const users = await countUsers()
  const browsers = Array.from({ length: 8 }, () => server.browse())
  const callbacks: URL[] = []
  for (const browser of browsers) callbacks.push(await authorize(server, browser, person))
  const answers = await Promise.all(browsers.map((browser, i) => browser.open(callbacks[i]?.href ?? '')))
  expect(answers.map(({ location }) => location)).toEqual(browsers.map(() => '/'))
  const sessions = await Promise.all(browsers.map(getSession))
  expect(new Set(sessions.map(({ user }) => user.id)).size).toBe(1)
  expect(await countUsers()).toBe(users + 1)
})

test('GET /v1/sso/callback/{p}: supports claims in the ID token and the client secret in the body', async () => {
  const other = await startSsoServer({
    providerOptions: { claimsInIdToken: true, authMethod: 'client_secret_post' },
  })
  try {
    other.provider.setFault(({ url }, response) => {
      if (url !== '/me') return false
      response.writeHead(500).end()
      return true
    })
    const browser = other.browse()
    const person = newPerson()
    expect((await signInAs(other, browser, person)).location).toBe('/')
    expect((await getSession(browser)).user).toMatchObject({ email: person.email, name: 'Ada Lovelace' })
  } finally {
    await other.close()
  }
})

test.each(['client_secret_basic', 'client_secret_post'] as const)(
  'GET /v1/sso/callback/{p}: %s with a client secret that needs form encoding (RFC 6749, section 2.3.1)',
  async (authMethod) => {
    const clientSecret = 'a:b&c%d+e=f g%20h-i_j~'
    const other = await startSsoServer({
      providerOptions: { authMethod, clientSecret },
      settings: { OIDC_CLIENT_SECRET: clientSecret },
    })
    try {
      expect((await signInAs(other, other.browse(), newPerson())).location).toBe('/')
    } finally {
      await other.close()
    }
  },
)

test('GET /v1/sso/login/{p}: the sign-in ends at return_to, a path of this site', async () => {
  const browser = server.browse()
  const login = await browser.open('/v1/sso/login/oidc?return_to=%2Fdeployments%2F7%3Ftab%3Dlogs%23end')
  const callback = await authorize(server, browser, newPerson(), login.location)
  expect((await browser.open(callback.href)).location).toBe('/deployments/7?tab=logs#end')
})
