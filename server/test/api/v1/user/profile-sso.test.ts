import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../../support/client.ts'
import { newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { SsoServer } from '../../../support/oidc-provider.ts'

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer()
})
afterAll(() => server.close())

test('PATCH /v1/user/profile: completes the profile of an SSO account once', async () => {
  const browser = server.browse()
  const person = newPerson({ name: 'Ada Lovelace' })
  await signInAs(server, browser, person)
  const client = createClient(server.url)
  client.setCookie(`berth_session=${browser.cookie('berth_session')?.value}`)
  expect((await client.get('/v1/auth/session')).body.user).toMatchObject({
    email: person.email,
    name: 'Ada Lovelace',
    requires_profile_completion: true,
  })
  const body = { name: 'Ada King', organization: 'Analytical Engines', country: 'UK' }
  const complete = await client.patch('/v1/user/profile', body)
  expect(complete.status).toBe(200)
  expect(complete.body).toMatchObject({
    user: {
      name: 'Ada King',
      organization: 'Analytical Engines',
      role: { id: 1, name: 'super_admin' },
      requires_profile_completion: false,
    },
    session: { auth_method: 'oidc' },
  })
  const again = await client.patch('/v1/user/profile', { organization: 'Another' })
  expect(again).toMatchObject({ status: 409, body: { code: 'profile_complete' } })
  const elsewhere = server.browse()
  await signInAs(server, elsewhere, person)
  expect((await elsewhere.open('/v1/auth/session')).body.user).toEqual(complete.body.user)
})
