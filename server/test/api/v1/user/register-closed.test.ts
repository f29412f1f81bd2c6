import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { invite, joinClient } from '../../../support/organizations.ts'
import { newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { SsoServer } from '../../../support/oidc-provider.ts'

const password = 'correct horse battery'

let invited: SsoServer
let domains: SsoServer
beforeAll(async () => {
  // The first account registers before the operator closes the registration.
  invited = await startSsoServer({ settings: { REGISTRATION: 'invited' } })
  domains = await startSsoServer({ settings: { REGISTRATION: 'domains:example.org, Example.net' } })
})
afterAll(async () => {
  await invited.close()
  await domains.close()
})

function register(server: SsoServer, email: string) {
  return createClient(server.url).post('/v1/user/register', { email, password, organization: 'Acme' })
}

test('POST /v1/user/register: 403 registration_closed where REGISTRATION is invited', async () => {
  const answer = await register(invited, 'ada@example.com')
  expect([answer.status, answer.body.code]).toEqual([403, 'registration_closed'])
  const rows = await invited.application.db.selectFrom('organizations').select('id').execute()
  expect(rows).toEqual([])
})

test('POST /v1/user/register: only emails of the listed domains, in any case', async () => {
  expect((await register(domains, 'ada@example.org')).status).toBe(200)
  expect((await register(domains, 'bob@EXAMPLE.NET')).status).toBe(200)
  for (const email of [
    'eve@example.com',
    'eve@sub.example.org',
    'eve@notexample.org',
    'example.org@evil.com',
  ]) {
    const answer = await register(domains, email)
    expect([answer.status, answer.body.code]).toEqual([403, 'registration_closed'])
  }
})

test('POST /v1/invitations/register: invitees of any domain register where registration is closed', async () => {
  const owner = await registerClient(domains.url, { email: 'owner@example.org' })
  const guest = await joinClient(domains, owner, 'member', { email: 'guest@example.com' })
  expect((await guest.get('/v1/auth/session')).status).toBe(200)
})

test('GET /v1/sso/callback/{p}: a new person without an invitation is refused like any registration', async () => {
  const browser = invited.browse()
  const refused = await signInAs(invited, browser, newPerson())
  expect(refused.location).toBe('/sign-in?error=registration_closed')
  const admitted = newPerson({ email: `ada-${Date.now()}@example.org` })
  expect((await signInAs(domains, domains.browse(), admitted)).location).toBe('/')
  // An account that exists signs in, whatever its domain.
  const owner = await registerClient(domains.url, { email: `owner-${Date.now()}@example.org` })
  const person = newPerson()
  await invite(domains, owner, { email: person.email })
  expect((await signInAs(domains, domains.browse(), person)).location).toBe(
    '/sign-in?error=registration_closed',
  )
})

test('GET /v1/installation: says who may register', async () => {
  const read = async (server: SsoServer) => (await createClient(server.url).get('/v1/installation')).body
  expect(await read(invited)).toMatchObject({ registration: 'invited', registration_domains: [] })
  expect(await read(domains)).toMatchObject({
    registration: 'domains',
    registration_domains: ['example.org', 'example.net'],
  })
})
