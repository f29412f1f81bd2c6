import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { maxTeams } from '../../../../src/features/teams/manage-teams.ts'
import { answerChats, openChat } from '../../../support/chat-streams.ts'
import type { Client } from '../../../support/client.ts'
import { deploy } from '../../../support/deployments.ts'
import { createCast, joinClient } from '../../../support/organizations.ts'
import { startRecordingEngine } from '../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { createService, openService } from '../../../support/service-members.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/organization/teams'
const deployments = '/api/v1/model-deployments'

/** Waits as long as a busy machine may need. */
const waitFor = <Result>(check: () => Result | Promise<Result>) => vi.waitFor(check, { timeout: 20_000 })

let engine: RecordingEngine
let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
beforeAll(async () => {
  engine = await startRecordingEngine()
  answerChats(engine)
  server = await startTestServer({ runtime: createScriptedRuntime(engine.url) })
})
afterAll(async () => {
  await server.close()
  await engine.close()
})
beforeEach(async () => {
  cast = await createCast(server)
})

async function findUserId(client: Client): Promise<number> {
  return (await client.get('/v1/auth/session')).body.user.id
}

async function createTeam(name: string, ...members: Client[]): Promise<number> {
  const { id } = (await cast.admin.post(path, { name })).body
  for (const member of members) {
    expect(await set('PUT', id, await findUserId(member))).toBe(204)
  }
  return id
}

const set = async (method: 'PUT' | 'DELETE', id: number, userId: number) =>
  (await cast.admin.request(method, `${path}/${id}/members/${userId}`)).status

function share(client: Client, id: string, shared_with: unknown) {
  return client.patch(`${deployments}/${id}`, { shared_with })
}

const chat = async (client: Client, model: string) =>
  (await client.post('/v1/chat/completions', { model, messages: [] })).status

test('teams: admins create, rename and delete them and choose the members; a member sees their own', async () => {
  const { viewer, member, admin } = cast
  const created = await admin.post(path, { name: '  Research ' })
  const id: number = created.body.id
  expect(created).toMatchObject({
    status: 200,
    body: { name: 'Research', members: [], created_at: expect.any(String) },
  })
  const other = await createTeam('Sales')
  expect(await set('PUT', id, await findUserId(member))).toBe(204)
  expect(await set('PUT', id, await findUserId(member)), 'again').toBe(204)
  const service = await createService(admin)
  expect(await set('PUT', id, service.user_id)).toBe(204)
  const renamed = await admin.patch(`${path}/${id}`, { name: 'research' })
  expect(renamed.body.members).toMatchObject([
    { user_id: await findUserId(member), email: member.email, kind: 'person' },
    { user_id: service.user_id, kind: 'service' },
  ])
  expect((await admin.get(path)).body.map((team: any) => team.id)).toEqual([id, other])
  expect((await member.get(path)).body).toEqual([renamed.body])
  expect((await viewer.get(path)).body).toEqual([])
  for (const name of ['RESEARCH', 'sales']) {
    const twin = await admin.post(path, { name })
    expect([twin.status, twin.body.code]).toEqual([409, 'team_exists'])
  }
  expect((await admin.patch(`${path}/${other}`, { name: 'Research' })).body.code).toBe('team_exists')
  for (const name of ['', ' ', 'x'.repeat(101), 7, undefined])
    expect((await admin.post(path, { name })).status, String(name)).toBe(422)
  expect(await set('PUT', id, await findUserId(cast.stranger))).toBe(404)
  expect(await set('DELETE', id, await findUserId(viewer)), 'who is not in it').toBe(204)
  expect((await admin.delete(`${path}/${id}`)).status).toBe(204)
  expect((await admin.delete(`${path}/${id}`)).status).toBe(404)
  const actions = (await admin.get('/v1/organization/audit-log')).body.items
  const about = actions.filter(({ target }: any) => target?.type === 'team' && target.id === String(id))
  expect(about.map(({ action }: any) => action).toReversed()).toEqual([
    'team.created',
    'team.member_added',
    'team.member_added',
    'team.updated',
    'team.deleted',
  ])
})

test('an organization has at most 200 teams', async () => {
  const organizationId = (await cast.admin.get('/v1/organization')).body.id
  const rows = Array.from({ length: maxTeams }, (_, index) => ({
    organization_id: organizationId,
    name: `Team ${index}`,
  }))
  await server.application.db.insertInto('teams').values(rows).execute()
  expect((await cast.admin.post(path, { name: 'One more' })).body.code).toBe('too_many_teams')
})

test('a deployment shared with a team and a member is theirs in lists, models and requests, and of nobody else', async () => {
  const { viewer, member, admin, superAdmin } = cast
  const { id } = await deploy(member)
  const [named, inTeam] = [await joinClient(server, admin, 'viewer'), viewer]
  const team = await createTeam('Research', inTeam)
  const namedId = await findUserId(named)
  const shared = await share(member, id, { teams: [team, team], members: [namedId] })
  expect(shared).toMatchObject({ status: 200, body: { shared_with: { teams: [team], members: [namedId] } } })
  const program = await openService(server.url, await createService(admin))
  const read = async (client: Client) => ({
    call: await chat(client, id),
    byName: await chat(client, 'berth-tiny'),
    models: (await client.get('/v1/models')).body.data.length,
    callable: (await client.get(`${deployments}?scope=callable`)).body.total,
    seen: (await client.get(`${deployments}?scope=organization`)).body.total,
    get: (await client.get(`${deployments}/${id}?scope=organization`)).status,
  })
  const access = { call: 200, byName: 200, models: 1, callable: 1, seen: 1, get: 200 }
  const none = { call: 404, byName: 404, models: 0, callable: 0, seen: 0, get: 404 }
  for (const client of [inTeam, named, member])
    await waitFor(async () => expect(await read(client)).toEqual(access))
  for (const client of [program, cast.stranger]) expect(await read(client)).toEqual(none)
  for (const client of [admin, superAdmin])
    expect(await read(client), 'admins see all').toEqual({ ...none, seen: 1, get: 200 })
})

test('refused: teams and people of others, nobody, and malformed lists', async () => {
  const { member, stranger } = cast
  const { id } = await deploy(member)
  const foreign = (await stranger.post(path, { name: 'Research' })).body.id
  const strangerId = await findUserId(stranger)
  const cases: readonly [unknown, string][] = [
    [{ teams: [foreign] }, 'shared_with.teams'],
    [{ members: [strangerId] }, 'shared_with.members'],
    [{ teams: [], members: [] }, 'shared_with'],
    [{}, 'shared_with'],
  ]
  for (const [value, field] of cases) {
    const answer = await share(member, id, value)
    expect([answer.status, answer.body.errors?.[0].field], JSON.stringify(value)).toEqual([422, field])
  }
  for (const value of [
    { teams: ['1'] },
    { teams: [0] },
    { teams: 1 },
    { teams: Array.from({ length: 101 }, (_, at) => at + 1) },
    'everybody',
    [],
  ])
    expect((await share(member, id, value)).status, JSON.stringify(value)).toBe(422)
  expect((await member.get(`${deployments}/${id}`)).body.shared_with).toBeNull()
})

test('who leaves a team loses access within a second, streams included, and so does everybody when it is deleted', async () => {
  const { viewer, member, admin } = cast
  const { id } = await deploy(member)
  const colleague = await joinClient(server, admin, 'member')
  const team = await createTeam('Research', viewer, colleague)
  await share(member, id, { teams: [team] })
  for (const client of [viewer, colleague])
    await waitFor(async () => expect(await chat(client, id)).toBe(200))
  const leaving = await openChat(server.url, viewer, id)
  const staying = await openChat(server.url, colleague, id)
  expect(await set('DELETE', team, await findUserId(viewer))).toBe(204)
  await leaving.ended
  await waitFor(async () => expect(await chat(viewer, id)).toBe(404))
  await expect(
    Promise.race([staying.ended.then(() => 'ended'), chat(colleague, id).then(() => 'serves')]),
  ).resolves.toBe('serves')
  expect((await admin.delete(`${path}/${team}`)).status).toBe(204)
  await staying.ended
  await waitFor(async () => expect(await chat(colleague, id)).toBe(404))
  expect((await member.get(`${deployments}/${id}`)).body.shared_with, 'with nobody else').toBeNull()
})

test('who leaves the organization and comes back has no share from before', async () => {
  const { member, admin, superAdmin } = cast
  const { id } = await deploy(member)
  const email = 'ada@returning.example'
  const leaving = await joinClient(server, admin, 'viewer', { email })
  const userId = await findUserId(leaving)
  const superId = await findUserId(superAdmin)
  await share(member, id, { members: [userId, superId] })
  expect((await leaving.post('/v1/organization/leave')).status).toBe(204)
  expect((await member.get(`${deployments}/${id}`)).body.shared_with).toEqual({
    teams: [],
    members: [superId],
  })
})
