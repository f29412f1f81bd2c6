import { afterAll, beforeAll, expect, test } from 'vitest'
import { client, newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { SsoServer } from '../../../support/oidc-provider.ts'

const callback = `${client.site}/v1/sso/callback/oidc`

let server: SsoServer
let withoutLogout: SsoServer
beforeAll(async () => {
  server = await startSsoServer()
  withoutLogout = await startSsoServer({ providerOptions: { endsSessions: false } })
})
afterAll(() => Promise.all([server.close(), withoutLogout.close()]))

async function signedIn(at: SsoServer) {
  const browser = at.browse()
  const person = newPerson()
  expect((await signInAs(at, browser, person)).location).toBe('/')
  return { browser, person }
}

async function promptOf(browser: Awaited<ReturnType<typeof signedIn>>['browser']) {
  const { location } = await browser.open('/v1/sso/login/oidc')
  return new URL(location).searchParams.get('prompt')
}

test('POST /v1/user/logout: names the page that ends the session at the provider, which returns to Berth', async () => {
  const { browser, person } = await signedIn(server)
  const { body } = await browser.post('/v1/user/logout', {})
  expect(body).toEqual({ authenticated: false, logout_url: expect.any(String) })
  const address = new URL((body as { logout_url: string }).logout_url)
  expect(address.origin).toBe(server.provider.issuer)
  expect(address.searchParams.get('post_logout_redirect_uri')).toBe(callback)
  const [, claims] = address.searchParams.get('id_token_hint')!.split('.')
  expect(JSON.parse(Buffer.from(claims!, 'base64url').toString())).toMatchObject({ sub: person.sub })

  // The provider's form asks for confirmation.
  const form = await browser.open(address.href)
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(String(form.body))?.[1]
  const confirmed = await browser.submit(`${server.provider.issuer}/session/end/confirm`, {
    xsrf: xsrf!,
    logout: 'yes',
  })
  expect(confirmed.location).toBe(callback)
  expect((await browser.open(confirmed.location)).location).toBe('/sign-in')

  const next = newPerson()
  expect((await signInAs(server, browser, next)).location).toBe('/')
  expect((await browser.open('/v1/auth/session')).body).toMatchObject({ user: { email: next.email } })
})

test('the database holds no readable ID token, and none after the sign-out', async () => {
  const { browser } = await signedIn(server)
  const rows = await server.application.db.selectFrom('sso_sessions').selectAll().execute()
  const { session_id: id, id_token: token } = rows.at(-1)!
  expect(token!.toString('latin1')).not.toContain('eyJ')
  await browser.post('/v1/user/logout', {})
  const left = await server.application.db.selectFrom('sso_sessions').select('session_id').execute()
  expect(left.map(({ session_id }) => session_id)).not.toContain(id)
})

test.each([
  ['ends sessions', () => server],
  ['ends no sessions', () => withoutLogout],
])('after a sign-out, the next sign-in asks who it is; the provider %s', async (_, choose) => {
  const at = choose()
  const { browser, person } = await signedIn(at)
  expect(await promptOf(browser)).toBeNull()
  const { body } = await browser.post('/v1/user/logout', {})
  expect('logout_url' in (body as object)).toBe(at === server)
  expect(await promptOf(browser)).toBe('login')

  expect((await signInAs(at, browser, person)).location).toBe('/')
  expect(await promptOf(browser)).toBeNull()
})

test('a long ID token is not kept, because no address could hold it', async () => {
  const large = await startSsoServer({
    providerOptions: { claimsInIdToken: true, moreClaims: ['groups'] },
  })
  try {
    const browser = large.browse()
    const groups = Array.from({ length: 200 }, (_, index) => `00000000-0000-0000-0000-${1e11 + index}`)
    await signInAs(large, browser, newPerson({ groups }))
    expect((await browser.post('/v1/user/logout', {})).body).toEqual({ authenticated: false })
    expect(await promptOf(browser)).toBe('login')
  } finally {
    await large.close()
  }
})
