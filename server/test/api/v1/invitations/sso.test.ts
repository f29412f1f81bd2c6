import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Browser } from '../../../support/browser.ts'
import { registerClient } from '../../../support/client.ts'
import { authorize, newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { Person, SsoServer } from '../../../support/oidc-provider.ts'
import { invite } from '../../../support/organizations.ts'
import type { Account } from '../../../support/organizations.ts'

const day = 24 * 3_600_000
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

let inviter: Account
beforeEach(async () => {
  inviter = await registerClient(server.url, { organization: 'Acme' })
})

function start(browser: Browser, token: unknown, headers: Record<string, string> = {}) {
  return browser.post('/v1/invitations/sso/oidc/start', { token }, headers)
}

/** Accepts an invitation by signing in at the provider as `person`; returns the response of the callback. */
async function acceptAs(browser: Browser, token: string, person: Person) {
  const { body } = await start(browser, token)
  const callback = await authorize(server, browser, person, body.authorization_url)
  return browser.open(callback.href)
}

async function getSession(browser: Browser) {
  return (await browser.open('/v1/auth/session')).body
}

async function getStatus(id: number): Promise<string> {
  const { body } = await inviter.get('/v1/organization/invitations')
  return body.find((each: { id: number }) => each.id === id).status
}

async function countAccounts(): Promise<number> {
  return (await server.application.db.selectFrom('users').select('id').execute()).length
}

test('POST /v1/invitations/sso/{p}/start: returns the provider’s URL and binds the browser', async () => {
  const { token } = await invite(server, inviter, { email: newPerson().email })
  const browser = server.browse()
  const answer = await start(browser, token)
  expect(answer.status).toBe(200)
  expect(Object.keys(answer.body)).toEqual(['authorization_url'])
  expect(new URL(answer.body.authorization_url).origin).toBe(server.provider.issuer)
  expect(browser.cookie('sso_flow')?.path).toBe('/v1/sso')
})

test('POST /v1/invitations/sso/{p}/start: a new person joins without their own organization', async () => {
  const person = newPerson({ name: 'Grace Hopper' })
  const { invitation, token } = await invite(server, inviter, {
    email: person.email.toUpperCase(),
    role: 'viewer',
  })
  const browser = server.browse()
  const answer = await acceptAs(browser, token, person)
  expect(answer.location).toBe('/')
  expect(await getSession(browser)).toMatchObject({
    user: {
      name: 'Grace Hopper',
      organization: 'Acme',
      role: { id: 4, name: 'viewer' },
      requires_profile_completion: false,
    },
    session: { auth_method: 'oidc' },
  })
  expect(await getStatus(invitation.id)).toBe('accepted')
  const { id } = (await getSession(browser)).user
  const memberships = server.application.db.selectFrom('memberships').selectAll().where('user_id', '=', id)
  expect(await memberships.execute()).toHaveLength(1)
  const again = server.browse()
  await signInAs(server, again, person)
  expect((await getSession(again)).user.id).toBe(id)
})

test('POST /v1/invitations/sso/{p}/start: a person with a linked account keeps it', async () => {
  const person = newPerson()
  const browser = server.browse()
  await signInAs(server, browser, person)
  const before = (await getSession(browser)).user
  const { token } = await invite(server, inviter, { email: person.email })
  expect((await acceptAs(browser, token, person)).location).toBe('/')
  const after = (await getSession(browser)).user
  expect(after).toMatchObject({ id: before.id, organization: 'Acme', role: { name: 'member' } })
})

test('POST /v1/invitations/sso/{p}/start: an account with an unverified email loses its password and sessions and joins', async () => {
  const person = newPerson()
  const squatter = await registerClient(server.url, { email: person.email })
  const { token } = await invite(server, inviter, { email: person.email })
  const browser = server.browse()
  expect((await acceptAs(browser, token, person)).location).toBe('/')
  expect((await getSession(browser)).user.organization).toBe('Acme')
  expect((await squatter.get('/v1/auth/session')).status).toBe(401)
})

test('POST /v1/invitations/sso/{p}/start: a different email at the provider is refused and changes nothing', async () => {
  const { invitation, token } = await invite(server, inviter, { email: newPerson().email })
  const known = newPerson()
  await signInAs(server, server.browse(), known)
  const accounts = await countAccounts()
  for (const person of [newPerson(), known]) {
    const browser = server.browse()
    const answer = await acceptAs(browser, token, person)
    expect(answer.location).toBe('/sign-in?error=sso_invitation_mismatch')
    expect(browser.cookie('berth_session')).toBeUndefined()
  }
  expect(await countAccounts()).toBe(accounts)
  expect(await getStatus(invitation.id)).toBe('pending')
})

test('POST /v1/invitations/sso/{p}/start: an account joins with the new email that the provider confirms', async () => {
  const person = newPerson()
  await signInAs(server, server.browse(), person)
  const moved = { ...person, email: newPerson().email }
  const { invitation, token } = await invite(server, inviter, { email: moved.email })
  const browser = server.browse()
  expect((await acceptAs(browser, token, moved)).location).toBe('/')
  expect((await getSession(browser)).user).toMatchObject({ email: moved.email, organization: 'Acme' })
  expect(await getStatus(invitation.id)).toBe('accepted')
})

test('POST /v1/invitations/sso/{p}/start: an account cannot join with the email of another account', async () => {
  const person = newPerson()
  await signInAs(server, server.browse(), person)
  const other = await registerClient(server.url)
  const { invitation, token } = await invite(server, inviter, { email: other.email })
  const answer = await acceptAs(server.browse(), token, { ...person, email: other.email })
  expect(answer.location).toBe('/sign-in?error=sso_invitation_mismatch')
  expect(await getStatus(invitation.id)).toBe('pending')
})

test('POST /v1/invitations/sso/{p}/start: an unverified email is refused where it has an account', async () => {
  const person = newPerson()
  await registerClient(server.url, { email: person.email })
  const { invitation, token } = await invite(server, inviter, { email: person.email })
  const accounts = await countAccounts()
  const answer = await acceptAs(server.browse(), token, { ...person, email_verified: false })
  expect(answer.location).toBe('/sign-in?error=sso_email_unverified')
  expect(await countAccounts()).toBe(accounts)
  expect(await getStatus(invitation.id)).toBe('pending')
})

test('POST /v1/invitations/sso/{p}/start: a resend during the sign-in invalidates it', async () => {
  const person = newPerson()
  const { invitation, token } = await invite(server, inviter, { email: person.email })
  const browser = server.browse()
  const { body } = await start(browser, token)
  const callback = await authorize(server, browser, person, body.authorization_url)
  const accounts = await countAccounts()
  const resent = await inviter.post(`/v1/organization/invitations/${invitation.id}/resend`)
  expect(resent.status).toBe(200)
  expect((await browser.open(callback.href)).location).toBe('/sign-in?error=invitation_not_found')
  expect(await countAccounts()).toBe(accounts)
})

test('POST /v1/invitations/sso/{p}/start: of 5 concurrent ways to accept one invitation, one succeeds', async () => {
  const person = newPerson()
  const { token } = await invite(server, inviter, { email: person.email })
  const browsers = Array.from({ length: 5 }, () => server.browse())
  const callbacks: string[] = []
  for (const browser of browsers) {
    const { body } = await start(browser, token)
    callbacks.push((await authorize(server, browser, person, body.authorization_url)).href)
  }
  const accounts = await countAccounts()
  const answers = await Promise.all(browsers.map((browser, i) => browser.open(callbacks[i] ?? '')))
  expect(answers.map(({ location }) => location).toSorted()).toEqual([
    '/',
    ...Array.from({ length: 4 }, () => '/sign-in?error=invitation_answered'),
  ])
  expect(await countAccounts()).toBe(accounts + 1)
})

test('POST /v1/invitations/sso/{p}/start: 404 unknown, 409 answered, 410 expired', async () => {
  const browser = server.browse()
  const unknown = await start(browser, 'unknown')
  expect([unknown.status, unknown.body.code]).toEqual([404, 'not_found'])
  const person = newPerson()
  const { token } = await invite(server, inviter, { email: person.email })
  await acceptAs(server.browse(), token, person)
  const answered = await start(browser, token)
  expect([answered.status, answered.body.code]).toEqual([409, 'invitation_answered'])
  const late = await invite(server, inviter, { email: newPerson().email })
  now += 7 * day
  const expired = await start(browser, late.token)
  expect([expired.status, expired.body.code]).toEqual([410, 'invitation_expired'])
  expect(browser.cookie('sso_flow')).toBeUndefined()
})

test('POST /v1/invitations/sso/{p}/start: refuses an unknown provider, another site and a body without a token', async () => {
  const { token } = await invite(server, inviter, { email: newPerson().email })
  const browser = server.browse()
  expect((await browser.post('/v1/invitations/sso/other/start', { token })).status).toBe(404)
  const crossSite = await start(browser, token, { 'sec-fetch-site': 'cross-site' })
  expect([crossSite.status, crossSite.body.code]).toEqual([403, 'csrf_rejected'])
  for (const wrong of [undefined, 7, null, ['a']]) expect((await start(browser, wrong)).status).toBe(422)
  expect(browser.cookie('sso_flow')).toBeUndefined()
})
