import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { createTestClock, hour } from '../support/clock.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { createRealm } from './realm.ts'
import type { Realm } from './realm.ts'

const site = 'https://berth.test'
const clock = createTestClock()

let realm: Realm
let server: TestServer
beforeAll(async () => {
  realm = await createRealm(process.env['TEST_KEYCLOAK']!)
  server = await startTestServer({
    worker: false,
    clock: clock.now,
    settings: {
      PUBLIC_URL: site,
      SESSION_COOKIE_NAME: 'berth_session',
      OIDC_ISSUER_URL: realm.issuer,
      OIDC_CLIENT_ID: realm.client.id,
      OIDC_CLIENT_SECRET: realm.client.secret,
      SSO_ONLY: 'true',
      ORGANIZATION_DOMAINS: 'corp.example:Research:viewer',
      OIDC_GROUPS_CLAIM: 'groups',
      OIDC_ROLE_GROUPS: 'admin:berth-admins,member:berth-users',
    },
  })
  await realm.registerClient(site, server.url)
})
afterAll(() => server?.close())

const newEmail = (domain = 'example.com') => `${randomBytes(6).toString('hex')}@${domain}`

async function signIn(email: string) {
  const browser = openBrowser(server.url, site)
  const { location } = await realm.signIn(browser, email)
  const session = () => browser.open('/v1/auth/session')
  return { browser, location, session, user: (await session()).body.user }
}

test('a person signs in through Keycloak, with the address and the name that it confirms', async () => {
  const email = newEmail()
  await realm.addUser(email)
  const first = await signIn(email)
  expect(first.location).toBe('/')
  expect(first.user).toMatchObject({ email, name: 'Ada Lovelace', requires_profile_completion: true })
  expect((await signIn(email)).user.id).toBe(first.user.id)
  const [identity] = (await first.browser.open('/v1/user/identities')).body
  expect(identity).toMatchObject({ provider: 'oidc', issuer: realm.issuer })
})

test('an address that Keycloak has not verified makes a separate account', async () => {
  const email = newEmail()
  const id = await realm.addUser(email)
  await realm.changeUser(id, { email, emailVerified: false })
  expect((await signIn(email)).location).toBe('/')
})

test('a person with a recycled address is refused, and has their own account once the address is free', async () => {
  const email = newEmail()
  const alice = await realm.addUser(email)
  const first = await signIn(email)
  const moved = `new-${email}`
  await realm.changeUser(alice, { email: moved, emailVerified: true })
  await realm.addUser(email)
  const refused = await signIn(email)
  expect(refused.location).toBe('/sign-in?error=sso_email_in_use')
  expect((await refused.session()).status).toBe(401)

  expect((await signIn(moved)).user).toMatchObject({ id: first.user.id, email: moved })
  const newcomer = await signIn(email)
  expect(newcomer.location).toBe('/')
  expect(newcomer.user.id).not.toBe(first.user.id)
})

test('a session outlives Keycloak’s ID token of five minutes, and ends after eight hours', async () => {
  const email = newEmail()
  await realm.addUser(email)
  const { session } = await signIn(email)
  clock.advance(6 * 60_000)
  expect((await session()).status).toBe(200)
  clock.advance(7 * hour)
  expect((await session()).status).toBe(200)
  clock.advance(hour)
  expect((await session()).status).toBe(401)
})

test('a sign-out at Keycloak ends the sessions in Berth through the back channel', async () => {
  const [email, other] = [newEmail(), newEmail()]
  const id = await realm.addUser(email)
  await realm.addUser(other)
  const sessions = [await signIn(email), await signIn(email), await signIn(other)]
  await realm.logOut(id)
  await expect.poll(async () => (await sessions[0]!.session()).status).toBe(401)
  await expect.poll(async () => (await sessions[1]!.session()).status).toBe(401)
  expect((await sessions[2]!.session()).status).toBe(200)
})

test('the role in the organization of a domain follows Keycloak’s groups at each sign-in', async () => {
  const owner = newEmail('corp.example')
  await realm.addUser(owner)
  expect((await signIn(owner)).user).toMatchObject({
    organization: 'Research',
    role: { name: 'super_admin' },
  })
  const email = newEmail('corp.example')
  const id = await realm.addUser(email)
  for (const [group, role] of [
    ['berth-users', 'member'],
    ['berth-admins', 'admin'],
    ['kitchen', 'viewer'],
  ] as const) {
    await realm.setGroup(id, group)
    expect((await signIn(email)).user, group).toMatchObject({
      organization: 'Research',
      role: { name: role },
    })
  }
})

test('signing out ends the session at Keycloak, and returns to Berth', async () => {
  const email = newEmail()
  await realm.addUser(email)
  const { browser } = await signIn(email)
  const asks = async () => {
    const { location } = await browser.open('/v1/sso/login/oidc')
    return /<form/.test(String((await browser.open(location)).body))
  }
  expect(await asks(), 'before').toBe(false)
  const { body } = await browser.post('/v1/user/logout', {})
  const left = await browser.open((body as { logout_url: string }).logout_url)
  expect(left.location).toBe(`${site}/v1/sso/callback/oidc`)
  expect((await browser.open(left.location)).location).toBe('/sign-in')
  expect(await asks(), 'after').toBe(true)
})
