import { afterEach, expect, test, vi } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import { adminSettings, runAdmin } from '../support/admin.ts'
import { startMailServer } from '../support/mail.ts'
import { newPerson, signInAs, startSsoServer } from '../support/oidc-provider.ts'
import { createCast, registerProven } from '../support/organizations.ts'
import { addTotp } from '../support/second-factors.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { createService, openService, signInService } from '../support/service-members.ts'

const networkRefusal = { status: 403, body: { code: 'network_not_allowed' } }

let server: TestServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

test('a service member signs in and works where only single sign-on is allowed', async () => {
  const sso = await startSsoServer({
    settings: { SSO_ONLY: 'true', EMAIL_CONFIRMATION: 'required', MAIL_URL: 'smtp://127.0.0.1:1' },
  })
  server = sso
  const browser = sso.browse()
  await signInAs(sso, browser, newPerson())
  const admin = createClient(sso.url)
  admin.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  const service = await createService(admin)
  const client = await openService(sso.url, service)
  expect((await client.get('/v1/auth/session')).body).toMatchObject({
    user: { kind: 'service', requires_email_verification: false, requires_second_factor_setup: false },
    session: { auth_method: 'password' },
  })
  const answer = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect(answer.status).toBe(201)
  // People learn nothing new: neither of them, nor of the service member's password.
  for (const email of ['ada@example.com', 'unknown@localhost.invalid']) {
    const credentials = { email, password: service.password }
    expect((await createClient(sso.url).post('/v1/user/signin', credentials)).body.code).toBe(
      'password_sign_in_disabled',
    )
  }
  const wrong = { email: service.email, password: 'wrong' }
  expect((await createClient(sso.url).post('/v1/user/signin', wrong)).body.code).toBe('invalid_credentials')
})

test('no identity provider takes over a service member with its email', async () => {
  const sso = await startSsoServer()
  server = sso
  const service = await createService(await registerClient(sso.url))
  const answer = await signInAs(sso, sso.browse(), newPerson({ email: service.email }))
  expect(answer.location).toContain('error=sso_email_unverified')
  const { db } = sso.application
  const identities = db.selectFrom('identities').select('id').where('user_id', '=', service.user_id)
  expect(await identities.execute()).toEqual([])
})

test('a service member works in an organization that requires a second factor', async () => {
  server = await startTestServer({ worker: false })
  const owner = await registerClient(server.url)
  const client = await openService(server.url, await createService(owner))
  await addTotp(owner)
  expect((await owner.patch('/v1/organization', { requires_second_factor: true })).status).toBe(200)
  expect((await client.get('/v1/organization')).status).toBe(200)
  expect((await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).status).toBe(201)
})

test('an unproven service member deploys where an unproven person cannot', async () => {
  const settings = { EMAIL_CONFIRMATION: 'required', MAIL_URL: 'smtp://127.0.0.1:1' }
  server = await startTestServer({ worker: false, settings })
  const owner = await registerProven(server)
  const client = await openService(server.url, await createService(owner))
  expect((await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).status).toBe(201)
})

test('behind a proxy, the forwarded address counts at sign-in, on each request and on the cached ones', async () => {
  server = await startTestServer({
    worker: false,
    settings: { TRUST_PROXY: 'loopback' },
    config: { networkLimits: { requestsPerMinute: 10_000 } },
  })
  const owner = await registerClient(server.url)
  const service = await createService(owner, { allowed_networks: ['10.0.0.0/8', '2001:db8::/32'] })
  const { url } = server
  // Without the header, the request comes from the proxy itself.
  expect((await signInService(url, service)).answer).toMatchObject(networkRefusal)
  expect((await signInService(url, service, '192.0.2.7')).answer).toMatchObject(networkRefusal)
  // A caller can only write the beginning of the header.
  expect((await signInService(url, service, '10.0.0.1, 192.0.2.7')).answer).toMatchObject(networkRefusal)
  const { client, answer } = await signInService(url, service, '10.0.0.1')
  expect(answer.status).toBe(200)
  const chat = { model: 'berth-tiny', messages: [{ role: 'user', content: 'Hello' }] }
  for (const [address, allowed] of [
    ['10.9.9.9', true],
    ['::ffff:10.9.9.9', true],
    ['2001:db8::1', true],
    ['192.0.2.7', false],
    ['10.0.0.1, 192.0.2.7', false],
    ['unknown', false],
    ['10.9.9.9', true],
  ] as const) {
    const headers = { 'x-forwarded-for': address }
    const session = await client.request('GET', '/v1/auth/session', undefined, headers)
    expect([address, session.status]).toEqual([address, allowed ? 200 : 403])
    const completion = await client.request('POST', '/v1/chat/completions', chat, headers)
    expect([address, completion.body.error.code]).toEqual([
      address,
      allowed ? 'model_not_found' : 'network_not_allowed',
    ])
  }
})

test('without a trusted proxy, a forwarded address counts for nothing', async () => {
  server = await startTestServer({ worker: false })
  const service = await createService(await registerClient(server.url), { allowed_networks: ['10.0.0.0/8'] })
  expect((await signInService(server.url, service, '10.0.0.1')).answer).toMatchObject(networkRefusal)
})

test('ten wrong passwords lock the account for others, not for its own networks', async () => {
  server = await startTestServer({
    worker: false,
    settings: { TRUST_PROXY: 'loopback' },
    config: { networkLimits: { requestsPerMinute: 10_000 } },
  })
  const service = await createService(await registerClient(server.url), { allowed_networks: ['10.0.0.0/8'] })
  const guess = { ...service, password: 'a wrong guess' }
  const { url } = server
  const fail = async (address: string) => (await signInService(url, guess, address)).answer.status
  for (let attempt = 0; attempt < 10; attempt += 1) expect(await fail('203.0.113.6')).toBe(401)
  expect(await fail('203.0.113.6')).toBe(429)
  expect((await signInService(url, service, '203.0.113.6')).answer.status).toBe(429)
  expect((await signInService(url, service, '10.0.0.1')).answer.status).toBe(200)
  for (let attempt = 0; attempt < 10; attempt += 1) expect(await fail('10.0.0.2')).toBe(401)
  expect((await signInService(url, service, '10.0.0.2')).answer.status).toBe(429)
  expect((await signInService(url, service, '10.0.0.3')).answer.status).toBe(200)
})

test('no mail goes to a service member: invitations elsewhere, resets, budgets, notices', async () => {
  const mails = await startMailServer()
  try {
    server = await startTestServer({ settings: { MAIL_URL: mails.url, EMAIL_CONFIRMATION: 'off' } })
    const { superAdmin, stranger } = await createCast(server)
    const service = await createService(superAdmin)
    const client = await openService(server.url, service)
    const invitation = await stranger.post('/v1/organization/invitations', { email: service.email })
    expect(invitation).toMatchObject({
      status: 200,
      body: {
        email_status: 'failed',
        email_last_error: 'Addresses that end in .invalid receive no mail.',
        invitee_user_id: service.user_id,
      },
    })
    expect((await client.get('/v1/invitations')).body.code).toBe('people_only')
    const { email } = service
    await createClient(server.url).post('/v1/auth/password-reset/request', { email })
    const budget = {
      scope: 'member',
      scope_id: service.user_id,
      monthly_limit: '0.01',
      at_limit: 'notify',
    }
    expect((await superAdmin.post('/v1/billing/budgets', budget)).status).toBe(200)
    await createClient(server.url).post('/v1/auth/password-reset/request', { email: superAdmin.email })
    // Jobs run in order, so this mail is later than those that the service member could have got.
    await mails.waitForMail(superAdmin.email)
    const { db } = server.application
    const resets = db.selectFrom('password_resets').select('id').where('user_id', '=', service.user_id)
    expect(await resets.execute()).toEqual([])
    const recipients = mails.received.flatMap((mail) => mail.recipients)
    expect(recipients.filter((recipient) => recipient.endsWith('.invalid'))).toEqual([])
  } finally {
    await mails.stop()
  }
})

test('a person alone with service members closes the organization with the account, and they end', async () => {
  server = await startTestServer({ worker: false })
  const owner = await registerClient(server.url)
  const service = await createService(owner)
  const client = await openService(server.url, service)
  const { body: deployment } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const { password } = owner
  expect((await owner.request('DELETE', '/v1/user', { password })).status).toBe(204)
  expect((await client.get('/v1/auth/session')).status).toBe(401)
  expect((await signInService(server.url, service)).answer.status).toBe(401)
  const { db } = server.application
  const row = await db
    .selectFrom('deployments')
    .select('status')
    .where('id', '=', deployment.id)
    .executeTakeFirst()
  expect(row?.status).toBe('terminating')
  const organizations = await db
    .selectFrom('organizations')
    .select('status')
    .where('id', '=', Number(deployment.organization_id))
    .execute()
  expect(organizations).toEqual([{ status: 'closed' }])
})

test('a service member is no super_admin that a person could leave behind', async () => {
  server = await startTestServer({ worker: false })
  const { superAdmin, member } = await createCast(server)
  await createService(superAdmin)
  expect(await superAdmin.post('/v1/organization/leave')).toMatchObject({
    status: 409,
    body: { code: 'last_super_admin' },
  })
  const { password } = member
  expect((await member.request('DELETE', '/v1/user', { password })).status).toBe(204)
})

test('an operator closes an organization: its service members end', async () => {
  server = await startTestServer({ worker: false })
  const owner = await registerClient(server.url)
  const service = await createService(owner)
  const client = await openService(server.url, service)
  const { id } = (await owner.get('/v1/organization')).body
  const result = await runAdmin(adminSettings(server), ['organization', 'close', String(id), '--yes'])
  expect(result.stderr).toBe('')
  expect(result.code).toBe(0)
  expect((await client.get('/v1/auth/session')).status).toBe(401)
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(1)
})

test('requests in flight and streams end when a rotation ends the session', async () => {
  server = await startTestServer({ worker: false })
  const owner = await registerClient(server.url)
  const service = await createService(owner)
  const client = await openService(server.url, service)
  const { body: deployment } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const response = await fetch(`${server.url}/api/v1/model-deployments/${deployment.id}/events`, {
    headers: { cookie: client.cookie(), accept: 'text/event-stream' },
  })
  expect(response.status).toBe(200)
  await owner.post(`/v1/organization/service-members/${service.id}/rotate?now=true`)
  await vi.waitFor(async () => expect((await client.get('/v1/models')).status).toBe(401))
  // Ends the test only when the server closes the stream.
  await response.text()
})
