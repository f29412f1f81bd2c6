import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import { linkIn, startMailServer } from '../support/mail.ts'
import type { MailServer } from '../support/mail.ts'
import { newPerson, signInAs, startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { invite, joinClient, registerProven } from '../support/organizations.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const newPassword = 'a better battery'

let mails: MailServer
let server: TestServer
let sso: SsoServer
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({ settings: { MAIL_URL: mails.url } })
  sso = await startSsoServer()
})
afterAll(async () => {
  await server.close()
  await sso.close()
  await mails.stop()
})

/**
 * An attacker registers the victim's address and invites an accomplice as admin, as before addresses had to
 * be proven.
 */
async function plantAccomplice(target: TestServer, email: string) {
  const attacker = await registerProven(target, { email, organization: 'Trap' })
  const accomplice = await joinClient(target, attacker, 'admin')
  await forgetProof(target, email)
  return { attacker, accomplice }
}

async function forgetProof({ application: { db } }: TestServer, email: string): Promise<void> {
  await db.updateTable('users').set({ email_verified_at: null }).where('email', '=', email).execute()
}

async function resetPassword(email: string) {
  await createClient(server.url).post('/v1/auth/password-reset/request', { email })
  const token = linkIn(await mails.waitForMail(email)).searchParams.get('token')
  const owner = createClient(server.url)
  await owner.post('/v1/auth/password-reset/confirm', { token, password: newPassword })
  expect((await owner.post('/v1/user/signin', { email, password: newPassword })).status).toBe(200)
  return owner
}

test('whoever proves an address by a password reset does not land in an organization with an accomplice', async () => {
  const email = 'victim-of-reset@example.com'
  const { attacker, accomplice } = await plantAccomplice(server, email)
  const owner = await resetPassword(email)
  const members = (await owner.get('/v1/organization/members')).body
  expect(members).toMatchObject([{ email, role: 'super_admin' }])
  expect((await owner.get('/v1/organization')).body.name).toBe('victim-of-reset’s organization')
  expect((await attacker.get('/v1/auth/session')).status).toBe(401)
  // The old organization stays, with its bill and its members, but is no longer current.
  expect((await accomplice.get('/v1/organization')).body.name).toBe('Trap')
  const own = (await owner.get('/v1/user/organizations')).body
  expect(own.find(({ current }: { current: boolean }) => current).name).not.toBe('Trap')
  // The confirmation of the new password may arrive before or after this mail.
  const texts = await Promise.all([2, 3].map(async (count) => (await mails.waitForMail(email, count)).text))
  expect(texts.join('\n')).toContain('you now have a new organization')
})

test('an accomplice who has yet to accept is as dangerous', async () => {
  const email = 'victim-of-pending@example.com'
  const attacker = await registerProven(server, { email, organization: 'Trap' })
  const { token } = await invite(server, attacker, { email: 'accomplice@example.com', role: 'admin' })
  await forgetProof(server, email)
  const owner = await resetPassword(email)
  const accomplice = createClient(server.url)
  expect((await accomplice.post('/v1/invitations/register', { token, password: newPassword })).status).toBe(
    200,
  )
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(1)
})

test('whoever proves an address by SSO does not land in an organization with an accomplice', async () => {
  const person = newPerson()
  const attacker = await registerClient(sso.url, { email: person.email, organization: 'Trap' })
  await joinClient(sso, attacker, 'admin')
  const browser = sso.browse()
  expect((await signInAs(sso, browser, person)).location).toBe('/')
  const members = (await browser.open('/v1/organization/members')).body
  expect(members).toMatchObject([{ email: person.email, role: 'super_admin' }])
})

test('a first proof changes no organization that nobody else has joined or was invited to', async () => {
  const email = 'alone@example.com'
  await registerClient(server.url, { email, organization: 'Mine' })
  const owner = await resetPassword(email)
  expect((await owner.get('/v1/organization')).body.name).toBe('Mine')
})

test('a proven founder keeps the organization and its members after a password reset', async () => {
  const email = 'founder@example.com'
  const founder = await registerProven(server, { email, organization: 'Team' })
  await joinClient(server, founder, 'admin')
  const owner = await resetPassword(email)
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(2)
})
