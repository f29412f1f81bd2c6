import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Client } from '../../../support/client.ts'
import { createClient } from '../../../support/client.ts'
import { createCast, invite, joinClient } from '../../../support/organizations.ts'
import type { Account } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

type Cast = Record<'viewer' | 'member' | 'admin' | 'superAdmin' | 'stranger', Account>

let server: TestServer
let cast: Cast
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())
beforeEach(async () => {
  cast = await createCast(server)
})

async function listMembers(client: Client): Promise<any[]> {
  return (await client.get('/v1/organization/members')).body
}

async function findMember(account: Account): Promise<any> {
  return (await listMembers(cast.superAdmin)).find(({ email }) => email === account.email)
}

async function pathOf(account: Account): Promise<string> {
  return `/v1/organization/members/${(await findMember(account)).id}`
}

async function deploy(client: Client): Promise<string> {
  const answer = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect(answer.status).toBe(201)
  return answer.body.id
}

async function readStatus(id: string): Promise<{ status: string; user_id: number; organization_id: number }> {
  const row = server.application.db.selectFrom('deployments').select(['status', 'user_id', 'organization_id'])
  return row.where('id', '=', id).executeTakeFirstOrThrow()
}

test('PATCH member: an admin changes viewers and members; the change holds for the next request', async () => {
  const answer = await cast.admin.patch(await pathOf(cast.viewer), { role: 'member' })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({ ...(await findMember(cast.viewer)), role: 'member' })
  await deploy(cast.viewer)
  expect((await cast.viewer.get('/v1/auth/session')).body.user.role).toEqual({ id: 3, name: 'member' })
})

test('PATCH and DELETE member: only a super_admin manages admins and makes new ones', async () => {
  const paths = {
    admin: await pathOf(cast.admin),
    owner: await pathOf(cast.superAdmin),
    viewer: await pathOf(cast.viewer),
  }
  for (const [path, role] of [
    [paths.admin, 'member'],
    [paths.owner, 'member'],
    [paths.viewer, 'admin'],
    [paths.viewer, 'super_admin'],
  ] as const) {
    expect((await cast.admin.patch(path, { role })).status, `${path} ${role}`).toBe(403)
  }
  for (const path of [paths.admin, paths.owner]) expect((await cast.admin.delete(path)).status).toBe(403)
  expect((await cast.member.patch(paths.viewer, { role: 'member' })).status).toBe(403)
  expect((await cast.superAdmin.patch(paths.viewer, { role: 'admin' })).status).toBe(200)
  expect((await cast.superAdmin.delete(paths.admin)).status).toBe(204)
  expect((await cast.superAdmin.patch(paths.viewer, { role: 'root' })).status).toBe(422)
})

test('PATCH and DELETE member: a member of another organization is a 404', async () => {
  const [own] = await listMembers(cast.stranger)
  const path = `/v1/organization/members/${own.id}`
  expect((await cast.superAdmin.patch(path, { role: 'viewer' })).status).toBe(404)
  expect((await cast.superAdmin.delete(path)).status).toBe(404)
  expect((await cast.superAdmin.delete('/v1/organization/members/999999')).status).toBe(404)
})

test('the last super_admin: 409 last_super_admin, for a new role, removal and leaving', async () => {
  const path = await pathOf(cast.superAdmin)
  for (const answer of [
    await cast.superAdmin.patch(path, { role: 'member' }),
    await cast.superAdmin.delete(path),
    await cast.superAdmin.post('/v1/organization/leave'),
  ]) {
    expect(answer).toMatchObject({ status: 409, body: { code: 'last_super_admin' } })
  }
})

test('two super_admins who demote each other at once: one remains', async () => {
  const second = await joinClient(server, cast.superAdmin, 'super_admin')
  const paths = [await pathOf(second), await pathOf(cast.superAdmin)]
  const answers = await Promise.all([
    cast.superAdmin.patch(paths[0]!, { role: 'member' }),
    second.patch(paths[1]!, { role: 'member' }),
  ])
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403])
  const roles = (await listMembers(cast.viewer)).map(({ role }) => role)
  expect(roles.filter((role) => role === 'super_admin')).toHaveLength(1)
})

test('DELETE member: active deployments are a 409 deployments_active with their ids, and nothing changes', async () => {
  const id = await deploy(cast.member)
  const answer = await cast.admin.delete(await pathOf(cast.member))
  expect(answer).toMatchObject({
    status: 409,
    body: {
      code: 'deployments_active',
      deployment_ids: [id],
      active_deployments: [{ id, selected_instance_type: null, created_at: expect.any(String) }],
    },
  })
  expect(await readStatus(id)).toMatchObject({ status: 'requested' })
  expect((await cast.member.get('/v1/organization')).body.name).toBe('Acme')
})

test('DELETE member, deployments=end: the deployments terminate, the member loses the organization but not the account', async () => {
  const id = await deploy(cast.member)
  const path = await pathOf(cast.member)
  expect((await cast.admin.delete(`${path}?deployments=end`)).status).toBe(204)
  expect(await readStatus(id)).toMatchObject({ status: 'terminating' })
  expect(await findMember(cast.member)).toBeUndefined()
  const { status, body } = await cast.member.get('/v1/organization')
  expect(status).toBe(200)
  expect(body).toMatchObject({ role: 'super_admin', name: expect.stringMatching(/’s organization$/) })
  const fresh = await cast.member.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect(fresh, 'no new trial').toMatchObject({ status: 409, body: { code: 'resource_limit_reached' } })
})

test('DELETE member, deployments=transfer: another member owns them; organization and payer stay', async () => {
  const id = await deploy(cast.member)
  const { organization_id } = await readStatus(id)
  const { user_id: to } = await findMember(cast.admin)
  const path = await pathOf(cast.member)
  expect((await cast.admin.delete(`${path}?deployments=transfer&to=${to}`)).status).toBe(204)
  expect(await readStatus(id)).toEqual({ status: 'requested', user_id: to, organization_id })
  const page = (await cast.admin.get('/api/v1/model-deployments')).body
  expect(page).toMatchObject({ total: 1, items: [{ id, user_id: String(to) }] })
  expect((await cast.member.get('/api/v1/model-deployments')).body.total).toBe(0)
  expect((await cast.member.get(`/api/v1/model-deployments/${id}`)).status).toBe(404)
  const events = (await cast.admin.get(`/api/v1/model-deployments/${id}/events`)).body.items
  expect(events.at(-1).message).toMatch(/^Transferred to /)
})

test('DELETE member: the recipient of a transfer must be another member who may deploy', async () => {
  await deploy(cast.member)
  const path = await pathOf(cast.member)
  const { user_id: stranger } = (await listMembers(cast.stranger))[0]
  const recipients = [
    stranger,
    (await findMember(cast.viewer)).user_id,
    (await findMember(cast.member)).user_id,
  ]
  for (const to of recipients) {
    expect(await cast.admin.delete(`${path}?deployments=transfer&to=${to}`)).toMatchObject({
      status: 422,
      body: { code: 'invalid_recipient' },
    })
  }
  for (const query of ['deployments=transfer', 'deployments=end&to=1', 'to=1', 'deployments=keep']) {
    expect((await cast.admin.delete(`${path}?${query}`)).status, query).toBe(422)
  }
  expect(await findMember(cast.member)).toBeDefined()
})

test('POST /v1/organization/leave: the same choice, and back to another organization', async () => {
  const id = await deploy(cast.member)
  const { invitation } = await invite(server, cast.stranger, { email: cast.member.email, role: 'admin' })
  expect(invitation.status).toBe('pending')
  expect(await cast.member.post('/v1/organization/leave')).toMatchObject({
    status: 409,
    body: { code: 'deployments_active', deployment_ids: [id] },
  })
  expect((await cast.member.post('/v1/organization/leave?deployments=end')).status).toBe(204)
  expect(await readStatus(id)).toMatchObject({ status: 'terminating' })
  expect((await cast.member.get('/v1/auth/session')).status).toBe(200)
})

test('a removed member returns by an invitation', async () => {
  expect((await cast.admin.delete(await pathOf(cast.viewer))).status).toBe(204)
  const { token } = await invite(server, cast.admin, { email: cast.viewer.email, role: 'viewer' })
  expect((await cast.viewer.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  expect((await cast.viewer.get('/v1/organization')).body.name).toBe('Acme')
})

test('a concurrent removal: no deployment starts in the organization afterwards', async () => {
  const path = await pathOf(cast.member)
  const [removal, ...deployments] = await Promise.all([
    cast.admin.delete(`${path}?deployments=end`),
    ...Array.from({ length: 8 }, () =>
      cast.member.post('/api/v1/model-deployments', { model_name: 'berth-tiny' }),
    ),
  ])
  expect(removal.status).toBe(204)
  const created = deployments.filter(({ status }) => status === 201)
  for (const { body } of created) expect(await readStatus(body.id)).toMatchObject({ status: 'terminating' })
})

test('DELETE invitation: cancelled for good; its link stops working', async () => {
  const { invitation, token } = await invite(server, cast.admin, {
    email: 'joan@example.com',
    role: 'viewer',
  })
  const path = `/v1/organization/invitations/${invitation.id}`
  expect((await cast.stranger.delete(path)).status).toBe(404)
  expect(await cast.admin.delete(path)).toMatchObject({
    status: 200,
    body: { id: invitation.id, status: 'cancelled', responded_at: expect.any(String) },
  })
  expect(await cast.admin.delete(path)).toMatchObject({ status: 409, body: { code: 'invitation_answered' } })
  expect((await cast.admin.post(`${path}/resend`)).status).toBe(409)
  const visitor = createClient(server.url)
  expect((await visitor.get(`/v1/invitations/by-token/${token}`)).body.status).toBe('cancelled')
  const answer = await visitor.post('/v1/invitations/register', { token, password: 'correct horse battery' })
  expect(answer).toMatchObject({ status: 409, body: { code: 'invitation_answered' } })
  await invite(server, cast.admin, { email: 'joan@example.com', role: 'viewer' })
})
