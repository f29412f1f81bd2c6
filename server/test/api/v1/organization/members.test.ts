import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { createCast, invite, joinClient } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

test('GET /v1/organization/members: 401 without a session', async () => {
  expect((await createClient(server.url).get('/v1/organization/members')).status).toBe(401)
})

test('GET /v1/organization/members: lists members in the order they joined', async () => {
  const owner = await registerClient(server.url, { name: 'Ada' })
  const first = await joinClient(server, owner, 'viewer', { first_name: 'Grace' })
  const second = await joinClient(server, owner, 'admin', { first_name: 'Alan' })
  const answer = await owner.get('/v1/organization/members')
  expect(answer.status).toBe(200)
  const joined_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const ids = { id: expect.any(Number), user_id: expect.any(Number), kind: 'person' }
  expect(answer.body).toEqual([
    { ...ids, email: owner.email, name: 'Ada', role: 'super_admin', joined_at },
    { ...ids, email: first.email, name: 'Grace', role: 'viewer', joined_at },
    { ...ids, email: second.email, name: 'Alan', role: 'admin', joined_at },
  ])
  const session = (await second.get('/v1/auth/session')).body
  expect(answer.body[2].user_id).toBe(session.user.id)
  expect(new Set(answer.body.map(({ id }: { id: number }) => id)).size).toBe(3)
})

test('GET /v1/organization/members: members who joined at the same instant are sorted by id', async () => {
  const owner = await registerClient(server.url)
  await joinClient(server, owner, 'member')
  await joinClient(server, owner, 'member')
  const { id } = (await owner.get('/v1/organization')).body
  await server.application.db
    .updateTable('memberships')
    .set({ joined_at: new Date() })
    .where('organization_id', '=', id)
    .execute()
  const ids = (await owner.get('/v1/organization/members')).body.map((member: { id: number }) => member.id)
  expect(ids).toHaveLength(3)
  expect(ids).toEqual(ids.toSorted((a: number, b: number) => a - b))
})

test('GET /v1/organization/members: every role can list members, but only of their organization', async () => {
  const { viewer, member, admin, superAdmin, stranger } = await createCast(server)
  for (const client of [viewer, member, admin, superAdmin]) {
    const answer = await client.get('/v1/organization/members')
    expect(answer.status).toBe(200)
    expect(answer.body).toHaveLength(4)
  }
  const theirs = (await stranger.get('/v1/organization/members')).body
  expect(theirs).toMatchObject([{ email: stranger.email, role: 'super_admin' }])
  expect(theirs).toHaveLength(1)
})

test('GET /v1/organization/members: an invitee is not a member before accepting', async () => {
  const owner = await registerClient(server.url)
  await invite(server, owner, { email: 'not-yet@example.com' })
  expect((await owner.get('/v1/organization/members')).body).toHaveLength(1)
})

test('GET /v1/organization/members: a user who joins a second organization sees its members and stays in the first', async () => {
  const owner = await registerClient(server.url, { organization: 'First' })
  const guest = await registerClient(server.url, { organization: 'Second' })
  const { token } = await invite(server, owner, { email: guest.email })
  expect((await guest.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  expect((await guest.get('/v1/organization/members')).body).toHaveLength(2)
  expect((await guest.get('/v1/organization')).body).toMatchObject({ name: 'First', role: 'member' })
  const user = server.application.db.selectFrom('users').select('id').where('email', '=', guest.email)
  const memberships = await server.application.db
    .selectFrom('memberships')
    .select('role')
    .where('user_id', '=', user)
    .orderBy('id')
    .execute()
  expect(memberships.map(({ role }) => role)).toEqual(['super_admin', 'member'])
})
