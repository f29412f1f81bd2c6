import { afterAll, beforeAll, expect, test } from 'vitest'
import { identifyOperator } from '../../src/features/operators/operator.ts'
import { unlinkIdentitiesOf } from '../../src/features/operators/unlink-identities.ts'
import { createClient } from '../support/client.ts'
import { linkIn, startMailServer } from '../support/mail.ts'
import type { MailServer } from '../support/mail.ts'
import { newPerson, signInAs, startSsoServer } from '../support/oidc-provider.ts'
import type { Person, SsoServer } from '../support/oidc-provider.ts'
import { invite, registerProven } from '../support/organizations.ts'

let mails: MailServer
let server: SsoServer
beforeAll(async () => {
  mails = await startMailServer()
  server = await startSsoServer({ worker: true, settings: { MAIL_URL: mails.url } })
})
afterAll(async () => {
  await server.close()
  await mails.stop()
})

const inUse = '/sign-in?error=sso_email_in_use'

async function signIn(person: Person) {
  const browser = server.browse()
  const { location } = await signInAs(server, browser, person)
  const { user } = (await browser.open('/v1/auth/session')).body
  return { browser, location, user }
}

/** The audited changes of the address of a user's account. */
function listChanges(userId: number) {
  return server.application.db
    .selectFrom('audit_log')
    .select(['action', 'result', 'details'])
    .where('target_id', '=', String(userId))
    .where('action', '=', 'user.email_changed')
    .execute()
}

test('a second subject of the issuer with the address of an account is refused', async () => {
  const alice = newPerson()
  const { user } = await signIn(alice)
  const newcomer = newPerson({ email: alice.email })
  const { browser, location } = await signIn(newcomer)
  expect(location).toBe(inUse)
  expect(browser.cookie('berth_session')).toBeUndefined()
  expect((await signIn(alice)).user.id).toBe(user.id)
  const refusals = await server.application.db
    .selectFrom('audit_log')
    .select('details')
    .where('action', '=', 'session.sign_in_refused')
    .execute()
  expect(refusals.at(-1)?.details).toEqual({ code: 'sso_email_in_use' })
})

test('an invitation does not let a second subject in, either', async () => {
  const alice = newPerson()
  await signIn(alice)
  const inviter = await registerProven(server)
  const { token } = await invite(server, inviter, { email: alice.email })
  const browser = server.browse()
  const { body } = await browser.post('/v1/invitations/sso/oidc/start', { token })
  server.provider.setPerson(newPerson({ email: alice.email }))
  const callback = await browser.followTo('https://berth.test/v1/sso/callback/', body.authorization_url)
  expect((await browser.open(callback)).location).toBe(inUse)
  expect((await inviter.get('/v1/organization/members')).body).toHaveLength(1)
})

test('of two subjects with one address that sign in at once, one gets the account', async () => {
  const email = newPerson().email
  const browsers = [server.browse(), server.browse()]
  const callbacks: string[] = []
  for (const browser of browsers) {
    server.provider.setPerson(newPerson({ email }))
    const { location } = await browser.open('/v1/sso/login/oidc')
    callbacks.push(await browser.followTo('https://berth.test/v1/sso/callback/', location))
  }
  const answers = await Promise.all(callbacks.map((url, index) => browsers[index]!.open(url)))
  expect(answers.map(({ location }) => location).toSorted()).toEqual(['/', inUse])
})

test('the account’s address follows the provider’s, which frees the earlier one', async () => {
  const alice = newPerson()
  const first = await signIn(alice)
  await createClient(server.url).post('/v1/auth/password-reset/request', { email: alice.email })
  const token = linkIn(await mails.waitForMail(alice.email)).searchParams.get('token')
  const renamed = { ...alice, email: `new-${alice.email}` }
  const second = await signIn(renamed)
  expect(second.user).toMatchObject({ id: first.user.id, email: renamed.email })
  expect((await mails.waitForMail(renamed.email)).subject).toContain('address')
  expect(await listChanges(first.user.id)).toEqual([
    {
      action: 'user.email_changed',
      result: 'succeeded',
      details: { email: { from: alice.email, to: renamed.email } },
    },
  ])
  // Whoever has the earlier address now cannot use what was mailed to it.
  const password = 'correct horse battery'
  const reset = await createClient(server.url).post('/v1/auth/password-reset/confirm', { token, password })
  expect(reset.status).toBe(400)
  const newcomer = await signIn(newPerson({ email: alice.email }))
  expect(newcomer.location).toBe('/')
  expect(newcomer.user.id).not.toBe(first.user.id)
})

test('an unverified address of the provider is not followed', async () => {
  const alice = newPerson()
  const { user } = await signIn(alice)
  for (const claims of [{ email_verified: false }, { email: undefined }]) {
    const again = await signIn({ ...alice, email: `other-${alice.email}`, ...claims })
    expect(again.user).toMatchObject({ id: user.id, email: alice.email })
  }
})

test('an address that another account has is not taken from it', async () => {
  const alice = newPerson()
  const bob = await registerProven(server)
  const { user } = await signIn(alice)
  const again = await signIn({ ...alice, email: bob.email.toUpperCase() })
  expect(again.user).toMatchObject({ id: user.id, email: alice.email })
  expect((await bob.get('/v1/auth/session')).body.user.email).toBe(bob.email)
  expect(await listChanges(user.id)).toMatchObject([{ result: 'refused' }])
})

test('the owner of an existing account is told when a provider opens it', async () => {
  const person = newPerson()
  await registerProven(server, { email: person.email })
  await signIn(person)
  const mail = server.application.db
    .selectFrom('mails')
    .select('status')
    .where('recipient', '=', person.email)
    .where('kind', '=', 'identity_linked')
  await expect.poll(() => mail.executeTakeFirst()).toEqual({ status: 'sent' })
})

test('an operator unlinks an account whose person has a new id at the provider', async () => {
  const alice = newPerson()
  const { user, browser } = await signIn(alice)
  const rehired = newPerson({ email: alice.email })
  expect((await signIn(rehired)).location).toBe(inUse)
  await unlinkIdentitiesOf(server.application, identifyOperator(), user.id)
  expect((await browser.open('/v1/auth/session')).status).toBe(401)
  expect((await signIn(rehired)).user.id).toBe(user.id)
  expect((await signIn(alice)).location).toBe(inUse)
})
