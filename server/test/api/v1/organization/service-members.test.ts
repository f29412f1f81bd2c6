import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { maxServiceMembers } from '../../../../src/features/service-members/create-service-member.ts'
import { createClient } from '../../../support/client.ts'
import { createTestClock, day, hour } from '../../../support/clock.ts'
import { createCast } from '../../../support/organizations.ts'
import type { Account } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'
import { createService, openService, signInService } from '../../../support/service-members.ts'

const path = '/v1/organization/service-members'
const minute = 60_000
const clock = createTestClock()

let server: TestServer
let cast: Record<'viewer' | 'member' | 'admin' | 'superAdmin' | 'stranger', Account>
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: clock.now })
})
afterAll(() => server.close())
beforeEach(async () => {
  cast = await createCast(server)
})

async function listActions(): Promise<any[]> {
  return (await cast.superAdmin.get('/v1/organization/audit-log')).body.items
}

test('POST service-members: answers the Member with kind, email at an invalid domain, and the password once', async () => {
  const answer = await cast.admin.post(path, {
    name: '  Nightly report ',
    role: 'viewer',
    allowed_networks: ['10.1.2.3/8', '127.0.0.1', '2001:DB8::/32', '10.0.0.0/8'],
  })
  expect(answer).toMatchObject({
    status: 200,
    body: {
      id: expect.any(Number),
      user_id: expect.any(Number),
      email: expect.stringMatching(/^nightly-report-[\da-f]{8}@localhost\.invalid$/),
      name: 'Nightly report',
      kind: 'service',
      role: 'viewer',
      joined_at: expect.any(String),
      allowed_networks: ['10.0.0.0/8', '127.0.0.1/32', '2001:db8::/32'],
      may_name_members: false,
      member_header: null,
      last_active_at: null,
      password_created_at: expect.any(String),
      previous_password_ends_at: null,
      password: expect.stringMatching(/^berth_service_[\w-]{43}$/),
    },
  })
  const { password, ...member } = answer.body
  expect((await cast.admin.get(path)).body).toEqual([member])
  const members = (await cast.viewer.get('/v1/organization/members')).body
  expect(members.map(({ kind }: any) => kind)).toEqual(['person', 'person', 'person', 'person', 'service'])
  expect(members.at(-1)).not.toHaveProperty('allowed_networks')
  expect(JSON.stringify([members, (await cast.admin.get(path)).body, server.logs])).not.toContain(password)
  expect((await listActions())[0]).toMatchObject({
    action: 'service_member.created',
    actor: { email: cast.admin.email },
    target: { type: 'member', id: String(member.id), name: member.email },
  })
})

test.each([
  [{ name: ' ' }, 'name'],
  [{ name: 'x'.repeat(256) }, 'name'],
  [{ role: 'admin' }, 'role'],
  [{ role: undefined }, 'role'],
  [{ allowed_networks: undefined }, 'allowed_networks'],
  [{ allowed_networks: [] }, 'allowed_networks'],
  [{ allowed_networks: Array.from({ length: 51 }, (_, index) => `10.0.0.${index}`) }, 'allowed_networks'],
  [{ allowed_networks: ['10.0.0.0/8', 'everywhere'] }, 'allowed_networks.1'],
  [{ allowed_networks: ['10.0.0.0/33'] }, 'allowed_networks.0'],
  [{ may_name_members: 'yes' }, 'may_name_members'],
  [{ member_header: 'X-User' }, 'member_header'],
])('POST service-members: %j is a 422', async (change, field) => {
  const program = { name: 'Nightly report', role: 'member', allowed_networks: ['10.0.0.0/8'] }
  const answer = await cast.admin.post(path, { ...program, ...change })
  expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed', errors: [{ field }] } })
})

test.each([
  'Cookie',
  'x',
  'x-ü',
  'X-Api-Key',
  'X-Forwarded-User',
  'X-Berth-Member',
  `x-${'a'.repeat(99)}`,
  'x-a\nb',
])('POST service-members: %j names no members', async (header) => {
  const program = { name: 'Nightly report', role: 'member', allowed_networks: ['10.0.0.0/8'] }
  const answer = await cast.admin.post(path, { ...program, may_name_members: true, member_header: header })
  expect(answer).toMatchObject({ status: 422, body: { errors: [{ field: 'member_header' }] } })
})

test('POST service-members: an organization has at most 100', async () => {
  const { db } = server.application
  const { id: organizationId } = (await cast.admin.get('/v1/organization')).body
  const users = await db
    .insertInto('users')
    .values(
      Array.from({ length: maxServiceMembers }, (_, index) => ({
        email: `service-${organizationId}-${index}@localhost.invalid`,
        name: `Service ${index}`,
        current_organization_id: organizationId,
        allowed_networks: ['127.0.0.0/8'],
      })),
    )
    .returning('id')
    .execute()
  await db
    .insertInto('memberships')
    .values(
      users.map(({ id }) => ({ user_id: id, organization_id: organizationId, role: 'viewer' as const })),
    )
    .execute()
  const program = { name: 'One more', role: 'member', allowed_networks: ['127.0.0.0/8'] }
  expect(await cast.admin.post(path, program)).toMatchObject({
    status: 409,
    body: { code: 'too_many_service_members' },
  })
})

test('PATCH service-members: gives and takes the right to name members, each change with its values before', async () => {
  const { id, email } = await createService(cast.admin)
  const change = async (body: object) => (await cast.admin.patch(`${path}/${id}`, body)).body
  const networks = ['127.0.0.0/8']
  expect(await change({ may_name_members: true, member_header: 'X-OpenWebUI-User-Email' })).toMatchObject({
    allowed_networks: networks,
    may_name_members: true,
    member_header: 'x-openwebui-user-email',
  })
  expect(await change({})).toMatchObject({ may_name_members: true })
  expect(await change({ member_header: null })).toMatchObject({ may_name_members: true, member_header: null })
  await change({ member_header: 'x-litellm-end-user-id' })
  expect(await change({ may_name_members: false })).toMatchObject({
    may_name_members: false,
    member_header: null,
  })
  const refused = await cast.admin.patch(`${path}/${id}`, { member_header: 'x-user' })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ field: 'member_header' }] } })
  expect((await cast.member.patch(`${path}/${id}`, { may_name_members: true })).status).toBe(403)
  const changes = (await listActions()).filter(({ action }) => action === 'service_member.updated')
  expect(changes.map(({ details }) => details)).toEqual([
    {
      may_name_members: { from: true, to: false },
      member_header: { from: 'x-litellm-end-user-id', to: null },
    },
    { member_header: { from: null, to: 'x-litellm-end-user-id' } },
    { member_header: { from: 'x-openwebui-user-email', to: null } },
    {
      may_name_members: { from: false, to: true },
      member_header: { from: null, to: 'x-openwebui-user-email' },
    },
  ])
  expect(changes[0].target).toMatchObject({ type: 'member', name: email })
})

test('rotate: the old password works 24 hours more, and so do the sessions until then', async () => {
  const service = await createService(cast.admin)
  const before = await openService(server.url, service)
  const answer = await cast.admin.post(`${path}/${service.id}/rotate`)
  const { password } = answer.body
  expect(answer).toMatchObject({ status: 200, body: { id: service.id, email: service.email } })
  expect(Date.parse(answer.body.previous_password_ends_at) - clock.now().getTime()).toBeGreaterThan(
    day - minute,
  )
  expect(password).not.toBe(service.password)
  const renewed = { ...service, password }
  const after = await openService(server.url, renewed)
  clock.advance(23 * hour)
  const late = await openService(server.url, service)
  expect((await before.get('/v1/auth/session')).status).toBe(200)
  clock.advance(2 * hour)
  expect((await signInService(server.url, service)).answer).toMatchObject({
    status: 401,
    body: { code: 'invalid_credentials' },
  })
  for (const old of [before, late]) expect((await old.get('/v1/models')).status).toBe(401)
  expect((await after.get('/v1/models')).status).toBe(200)
  await openService(server.url, renewed)
  const [member] = (await cast.admin.get(path)).body
  expect(member).toMatchObject({
    last_active_at: new Date(Math.floor(clock.now().getTime() / hour) * hour).toISOString(),
    password_created_at: answer.body.password_created_at,
    previous_password_ends_at: null,
  })
  const age = clock.now().getTime() - Date.parse(member.password_created_at)
  expect(Math.floor(age / hour)).toBe(25)
})

test('rotate: two rotations within a day leave both earlier passwords their 24 hours', async () => {
  const service = await createService(cast.admin)
  const second = (await cast.admin.post(`${path}/${service.id}/rotate`)).body
  clock.advance(12 * hour)
  const third = (await cast.admin.post(`${path}/${service.id}/rotate`)).body
  for (const each of [service, second, third]) await openService(server.url, each)
  clock.advance(13 * hour)
  expect((await signInService(server.url, service)).answer.status).toBe(401)
  for (const each of [second, third]) await openService(server.url, each)
})

test('rotate?now=true ends every earlier password and all sessions at once', async () => {
  const service = await createService(cast.admin)
  const second = (await cast.admin.post(`${path}/${service.id}/rotate`)).body
  const client = await openService(server.url, service)
  expect((await client.get('/v1/models')).status).toBe(200)
  const { body } = await cast.admin.post(`${path}/${service.id}/rotate?now=true`)
  expect(body.previous_password_ends_at).toBe(null)
  for (const old of [service, second]) {
    expect((await signInService(server.url, old)).answer.status).toBe(401)
  }
  expect((await client.get('/v1/auth/session')).status).toBe(401)
  await openService(server.url, { ...service, password: body.password })
  expect(
    (await listActions()).filter(({ action }) => action === 'service_member.password_rotated'),
  ).toMatchObject([{ details: { now: true } }, { details: { now: false } }])
})

test('rotate?now=true: a sign-in at the same moment keeps no session', async () => {
  const service = await createService(cast.admin)
  const attempts = Array.from({ length: 8 }, () => signInService(server.url, service))
  await Promise.race(attempts)
  expect((await cast.admin.post(`${path}/${service.id}/rotate?now=true`)).status).toBe(200)
  const signedIn = await Promise.all(attempts)
  expect(signedIn.some(({ answer }) => answer.status === 200)).toBe(true)
  for (const { client } of signedIn) expect((await client.get('/v1/auth/session')).status).toBe(401)
})

test('PATCH service-members: sessions from other networks end', async () => {
  const service = await createService(cast.admin)
  const client = await openService(server.url, service)
  const change = { allowed_networks: ['192.0.2.0/24', '127.0.0.1'] }
  const changed = await cast.admin.patch(`${path}/${service.id}`, change)
  expect(changed).toMatchObject({ status: 200, body: { allowed_networks: ['192.0.2.0/24', '127.0.0.1/32'] } })
  expect((await client.get('/v1/auth/session')).status).toBe(200)
  await cast.admin.patch(`${path}/${service.id}`, { allowed_networks: ['192.0.2.0/24'] })
  expect((await client.get('/v1/auth/session')).status).toBe(401)
  expect((await signInService(server.url, service)).answer).toMatchObject({
    status: 403,
    body: { code: 'network_not_allowed' },
  })
  const [action] = await listActions()
  expect(action).toMatchObject({ action: 'session.sign_in_refused', details: { step: 'network' } })
})

test('PATCH and POST rotate: people, strangers’ service members and unknown ids are a 404', async () => {
  const service = await createService(cast.admin)
  const [person] = (await cast.admin.get('/v1/organization/members')).body
  const change = { allowed_networks: ['10.0.0.0/8'] }
  for (const [client, id] of [
    [cast.admin, person.id],
    [cast.stranger, service.id],
    [cast.admin, 987_654_321],
    [cast.admin, 'x'],
  ]) {
    expect((await client.patch(`${path}/${id}`, change)).status).toBe(404)
    expect((await client.post(`${path}/${id}/rotate`)).status).toBe(404)
  }
  await openService(server.url, service)
})

test('PATCH member: a service member becomes a viewer or a member, and nothing else', async () => {
  const service = await createService(cast.admin, { role: 'viewer' })
  const member = `/v1/organization/members/${service.id}`
  expect(await cast.admin.patch(member, { role: 'member' })).toMatchObject({
    status: 200,
    body: { role: 'member', kind: 'service' },
  })
  for (const role of ['admin', 'super_admin']) {
    expect(await cast.superAdmin.patch(member, { role })).toMatchObject({
      status: 409,
      body: { code: 'service_member_role' },
    })
  }
})

test('DELETE member: the account, its sessions and passwords end; its deployments follow the rules for members', async () => {
  const service = await createService(cast.admin)
  const client = await openService(server.url, service)
  const { body: deployment } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect(deployment.user_id).toBe(String(service.user_id))
  const member = `/v1/organization/members/${service.id}`
  expect(await cast.admin.delete(member)).toMatchObject({
    status: 409,
    body: { code: 'deployments_active', deployment_ids: [deployment.id] },
  })
  expect((await cast.admin.delete(`${member}?deployments=end`)).status).toBe(204)
  expect((await client.get('/v1/auth/session')).status).toBe(401)
  expect((await signInService(server.url, service)).answer.status).toBe(401)
  expect((await cast.admin.get(path)).body).toEqual([])
  const { db } = server.application
  const organizations = db.selectFrom('organizations').select('id').where('name', 'like', 'Nightly%')
  expect(await organizations.execute()).toEqual([])
  const row = await db
    .selectFrom('deployments')
    .select('status')
    .where('id', '=', deployment.id)
    .executeTakeFirst()
  expect(row?.status).toBe('terminating')
})

test('DELETE member: a person hands deployments over to a service member', async () => {
  const service = await createService(cast.admin)
  const { body: deployment } = await cast.member.post('/api/v1/model-deployments', {
    model_name: 'berth-tiny',
  })
  const members = (await cast.admin.get('/v1/organization/members')).body
  const { id } = members.find(({ email }: any) => email === cast.member.email)
  const target = `/v1/organization/members/${id}?deployments=transfer&to=${service.user_id}`
  expect((await cast.admin.delete(target)).status).toBe(204)
  const client = await openService(server.url, service)
  expect((await client.get(`/api/v1/model-deployments/${deployment.id}`)).status).toBe(200)
})

test('nobody gets another’s rights through its email: registration, invitation', async () => {
  const service = await createService(cast.admin)
  const { email } = service
  const visitor = createClient(server.url)
  const registration = { email: email.toUpperCase(), password: 'correct horse battery', organization: 'Mine' }
  expect((await visitor.post('/v1/user/register', registration)).body.code).toBe('email_taken')
  expect((await cast.admin.post('/v1/organization/invitations', { email })).body.code).toBe('already_member')
})
