import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { newPerson, signInAs, startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { createCast, invite, joinClient } from '../support/organizations.ts'
import type { Account } from '../support/organizations.ts'
import { addTotp } from '../support/second-factors.ts'

const required = { requires_second_factor: true }
const refusal = { status: 403, body: { code: 'second_factor_setup_required' } }

let server: SsoServer
let cast: Record<'viewer' | 'member' | 'admin' | 'superAdmin' | 'stranger', Account>
beforeAll(async () => {
  server = await startSsoServer({ settings: { INFERENCE_MAX_IN_FLIGHT_PER_USER: '10' } })
  cast = await createCast(server)
})
afterAll(() => server.close())

async function requireFactor(owner: Account): Promise<void> {
  await addTotp(owner)
  expect(await owner.patch('/v1/organization', required)).toMatchObject({ status: 200, body: required })
}

async function needsSetup(client: Client): Promise<boolean> {
  return (await client.get('/v1/auth/session')).body.user.requires_second_factor_setup
}

test('only a super_admin with a second factor may require one', async () => {
  for (const account of [cast.viewer, cast.member, cast.admin]) {
    expect(await account.patch('/v1/organization', required)).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
  }
  // An admin who sends the current value back changes nothing.
  const same = { requires_second_factor: false, name: 'Acme Works' }
  expect((await cast.admin.patch('/v1/organization', same)).body).toMatchObject(same)
  expect(await cast.superAdmin.patch('/v1/organization', required)).toMatchObject({
    status: 409,
    body: { code: 'no_second_factor' },
  })
  expect((await cast.superAdmin.get('/v1/organization')).body.requires_second_factor).toBe(false)
  await addTotp(cast.superAdmin)
  expect((await cast.superAdmin.patch('/v1/organization', required)).status).toBe(200)
  expect((await cast.superAdmin.get('/v1/organization')).body).toMatchObject(required)
  const log = (await cast.superAdmin.get('/v1/organization/audit-log?action=organization.updated')).body
  expect(log.items[0].details).toEqual({
    requiresSecondFactor: true,
    before: { requiresSecondFactor: false },
  })
})

test('members without one get 403 second_factor_setup_required until they have one, everywhere within a second', async () => {
  const { member, viewer } = await createCast(server).then(async (fresh) => {
    // Their sessions are in the cache of the inference routes.
    expect((await fresh.member.get('/v1/models')).status).toBe(200)
    await requireFactor(fresh.superAdmin)
    return fresh
  })
  await vi.waitFor(async () => expect(await member.get('/v1/models')).toMatchObject({ status: 403 }), 20_000)
  for (const path of [
    '/v1/organization',
    '/v1/organization/members',
    '/api/v1/model-deployments',
    '/api/v1/deployable-models',
    '/v1/billing/usage-summary',
  ]) {
    expect(await member.get(path)).toMatchObject(refusal)
  }
  const chat = { model: 'any', messages: [] }
  expect(await member.post('/v1/chat/completions', chat)).toMatchObject({
    status: 403,
    body: { error: { code: 'second_factor_setup_required' } },
  })
  expect(await member.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).toMatchObject(refusal)
  expect(await needsSetup(member)).toBe(true)
  await addTotp(member)
  expect(await needsSetup(member)).toBe(false)
  await vi.waitFor(async () => expect((await member.get('/v1/models')).status).toBe(200), 20_000)
  expect((await member.get('/v1/organization')).status).toBe(200)
  expect(await viewer.get('/v1/organization')).toMatchObject(refusal)
})

test('personal routes stay open: nobody is locked in', async () => {
  const { member, superAdmin, stranger } = await createCast(server)
  const { token } = await invite(server, stranger, { email: member.email })
  await requireFactor(superAdmin)
  for (const path of [
    '/v1/auth/session',
    '/v1/auth/sessions',
    '/v1/user/profile',
    '/v1/user/organizations',
    '/v1/user/second-factors',
    '/v1/user/export',
    '/v1/invitations',
  ]) {
    expect((await member.get(path)).status, path).toBe(200)
  }
  const own = (await member.get('/v1/user/organizations')).body.find((each: any) => each.current)
  // Another organization does not require it, and the way back works.
  expect((await member.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  expect((await member.get('/v1/organization')).status).toBe(200)
  expect((await member.patch('/v1/user/profile', { current_organization_id: own.id })).status).toBe(200)
  expect(await member.get('/v1/organization')).toMatchObject(refusal)
  expect((await member.post('/v1/organization/leave')).status).toBe(204)
  expect((await member.get('/v1/organization')).status).toBe(200)
  expect((await member.post('/v1/user/logout')).status).toBe(200)
})

test('a removed second factor is required again, and a new member is led to it', async () => {
  const { superAdmin } = await createCast(server)
  await requireFactor(superAdmin)
  const newcomer = await joinClient(server, superAdmin, 'member')
  expect(await newcomer.get('/v1/organization')).toMatchObject(refusal)
  await addTotp(newcomer)
  expect((await newcomer.get('/v1/organization')).status).toBe(200)
  const { password } = newcomer
  expect((await newcomer.request('DELETE', '/v1/user/second-factors/totp', { password })).status).toBe(204)
  expect(await newcomer.get('/v1/organization')).toMatchObject(refusal)
})

test('a session of the identity provider satisfies the requirement', async () => {
  const { superAdmin } = await createCast(server)
  const person = newPerson()
  const { token } = await invite(server, superAdmin, { email: person.email })
  await requireFactor(superAdmin)
  const browser = server.browse()
  await signInAs(server, browser, person)
  const client = createClient(server.url)
  client.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
  expect((await client.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  expect(await needsSetup(client)).toBe(false)
  expect((await client.get('/v1/organization')).body).toMatchObject(required)
})
