import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { answerChats, openChat } from '../support/chat-streams.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { openEventStream } from '../support/event-stream.ts'
import { createCast, invite, joinClient } from '../support/organizations.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
/** Lets a request reach a colleague's deployment. */
const team = '?scope=organization'
const patience = 20_000

let engine: RecordingEngine
let runtime: ReturnType<typeof createScriptedRuntime>
let server: TestServer
beforeAll(async () => {
  engine = await startRecordingEngine()
  answerChats(engine)
  runtime = createScriptedRuntime(engine.url)
  server = await startTestServer({ runtime })
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

async function setUp() {
  const cast = await createCast(server)
  const { id } = await deploy(cast.member)
  return { ...cast, id }
}

function share(client: Client, id: string, shared_with: 'organization' | null = 'organization') {
  return client.patch(`${path}/${id}${team}`, { shared_with })
}

function chat(client: Client, model: string, more: object = {}) {
  return client.post('/v1/chat/completions', { model, messages: [], ...more })
}

async function expectChat(client: Client, model: string, status: number): Promise<void> {
  await vi.waitFor(async () => expect((await chat(client, model)).status).toBe(status), patience)
}

async function list(client: Client, query = '') {
  const { items, total } = (await client.get(`${path}${query}`)).body
  return { ids: items.map(({ id }: { id: string }) => id), total }
}

test('nobody shares: the deployment is the owner’s, and only admins see and administer it, with a scope', async () => {
  const { member, viewer, admin, superAdmin, stranger, id } = await setUp()
  const own = (await member.get(`${path}/${id}`)).body
  expect(own).toMatchObject({ shared_with: null, owner: { user_id: own.user_id, email: member.email } })
  for (const other of [viewer, stranger]) {
    for (const suffix of ['', '/events', '/logs', '/usage', '/statistics', '/activity']) {
      expect((await other.get(`${path}/${id}${suffix}`)).status, suffix).toBe(404)
      expect((await other.get(`${path}/${id}${suffix}${team}`)).status, suffix).toBe(404)
    }
  }
  for (const other of [admin, superAdmin]) {
    expect((await other.get(`${path}/${id}${team}`)).body).toEqual(own)
    for (const suffix of ['', '/events', '/logs', '/usage', '/statistics', '/activity']) {
      expect((await other.get(`${path}/${id}${suffix}${team}`)).status, suffix).toBe(200)
      for (const query of ['', '?scope=own'])
        expect((await other.get(`${path}/${id}${suffix}${query}`)).status, suffix).toBe(404)
    }
    expect(await list(other)).toEqual({ ids: [], total: 0 })
    expect(await list(other, '?scope=organization')).toEqual({ ids: [id], total: 1 })
  }
  for (const other of [viewer, admin, superAdmin, stranger]) {
    expect((await chat(other, id)).status).toBe(404)
    expect((await chat(other, 'berth-tiny')).status).toBe(404)
    expect((await other.get('/v1/models')).body.data).toEqual([])
  }
  expect(await list(viewer, '?scope=organization')).toEqual({ ids: [], total: 0 })
  expect((await viewer.get(`${path}?scope=everything`)).status).toBe(422)
})

test('scope=callable lists own deployments and those shared with the current organization', async () => {
  const { member, viewer, admin, stranger, id } = await setUp()
  const own = (await deploy(admin)).id
  const query = '?scope=callable&active=true'
  expect(await list(admin, query)).toEqual({ ids: [own], total: 1 })
  expect((await share(member, id)).status).toBe(200)
  expect(await list(admin, query)).toEqual({ ids: [own, id], total: 2 })
  expect(await list(admin, '?scope=callable')).toEqual({ ids: [own, id], total: 2 })
  expect(await list(member, query)).toEqual({ ids: [id], total: 1 })
  expect(await list(viewer, query)).toEqual({ ids: [id], total: 1 })
  expect(await list(stranger, query)).toEqual({ ids: [], total: 0 })
  expect((await share(member, id, null)).status).toBe(200)
  expect(await list(viewer, query)).toEqual({ ids: [], total: 0 })
})

test('a shared deployment: every member reads and calls it by id, uid and name, and changes nothing', async () => {
  const { member, viewer, admin, superAdmin, stranger, id } = await setUp()
  expect((await share(stranger, id)).status).toBe(404)
  expect((await share(viewer, id)).status).toBe(404)
  const shared = await share(member, id)
  expect(shared).toMatchObject({ status: 200, body: { id, shared_with: 'organization' } })
  expect((await member.patch(`${path}/${id}`, { shared_with: 'everybody' })).status).toBe(422)
  const other = await server.application.db
    .selectFrom('users')
    .select('name')
    .where('email', '=', member.email)
    .executeTakeFirstOrThrow()
  expect(shared.body.owner).toEqual({ user_id: shared.body.user_id, email: member.email, name: other.name })
  for (const colleague of [viewer, admin, superAdmin]) {
    for (const name of [id, `dep-${id}`, 'berth-tiny', 'BERTH-TINY']) await expectChat(colleague, name, 200)
    const { organization } = (await colleague.get('/v1/auth/session')).body.user
    const model = { id: 'berth-tiny', owned_by: organization, deployments: [id] }
    expect((await colleague.get('/v1/models')).body.data).toMatchObject([model])
    expect((await colleague.get(`/v1/models/${id}`)).body).toMatchObject({ owned_by: organization })
    expect(await list(colleague, '?scope=organization')).toEqual({ ids: [id], total: 1 })
    expect(await list(colleague)).toEqual({ ids: [], total: 0 })
  }
  for (const suffix of ['', '/events', '/statistics', '/activity']) {
    expect((await viewer.get(`${path}/${id}${suffix}${team}`)).status, suffix).toBe(200)
    expect((await viewer.get(`${path}/${id}${suffix}`)).status, suffix).toBe(404)
  }
  for (const suffix of ['/logs', '/usage']) {
    expect((await viewer.get(`${path}/${id}${suffix}${team}`)).status, suffix).toBe(403)
    expect((await admin.get(`${path}/${id}${suffix}${team}`)).status, suffix).toBe(200)
  }
  expect((await viewer.delete(`${path}/${id}${team}`)).status).toBe(403)
  for (const colleague of [viewer, admin]) expect((await colleague.delete(`${path}/${id}`)).status).toBe(404)
  expect((await chat(stranger, id)).status).toBe(404)
})

test('sharing ends within a second, streams included, and calls only from the current organization', async () => {
  const { member, viewer, stranger, id } = await setUp()
  await share(member, id)
  await expectChat(viewer, id, 200)
  const home = (await viewer.get('/v1/organization')).body.id
  const { token } = await invite(server, stranger, { email: viewer.email, role: 'admin' })
  expect((await viewer.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  await expectChat(viewer, id, 404)
  await viewer.patch('/v1/user/profile', { current_organization_id: home })
  await expectChat(viewer, id, 200)
  const stream = await openChat(server.url, viewer, id)
  const own = await openChat(server.url, member, id)
  const events = await openEventStream(server.url, `${path}/${id}/events`, viewer)
  expect((await share(member, id, null)).body.shared_with).toBeNull()
  await stream.ended
  while ((await events.next()) !== null);
  await expectChat(viewer, id, 404)
  expect((await viewer.get(`${path}/${id}`)).status).toBe(404)
  await expectChat(member, id, 200)
  await expect(
    Promise.race([own.ended.then(() => 'ended'), chat(member, id).then(() => 'serves')]),
  ).resolves.toBe('serves')
  await own.close()
})

test('one’s own deployments come first; a shared one of the same model has its uid', async () => {
  const { member, admin, id } = await setUp()
  await share(member, id)
  const { id: own } = await deploy(admin)
  await expectChat(admin, 'berth-tiny', 200)
  expect((await admin.get('/v1/models/berth-tiny')).body.deployments).toEqual([own])
  const { data } = (await admin.get('/v1/models')).body
  expect(data.map((model: { id: string; deployments: string[] }) => [model.id, model.deployments])).toEqual([
    ['berth-tiny', [own]],
    [`dep-${id}`, [id]],
  ])
  await expectChat(admin, `dep-${id}`, 200)
})

test('an alias: reaches one’s own deployments, then shared ones, before model names', async () => {
  const { member, admin, viewer, stranger, id } = await setUp()
  const name = async (by: Client, deployment: string, alias: unknown) =>
    by.patch(`${path}/${deployment}`, { alias })
  for (const wrong of ['', 'a b', 'ä', 'x'.repeat(129), 7, 'a\n']) {
    expect((await name(member, id, wrong)).status, String(wrong)).toBe(422)
  }
  expect((await name(viewer, id, 'chat')).status).toBe(404)
  expect((await name(stranger, id, 'chat')).status).toBe(404)
  const longest = 'Team:Chat_1.0/x-'.repeat(8)
  expect((await name(member, id, longest)).body.alias).toBe(longest)
  await expectChat(member, longest, 200)
  expect((await name(member, id, 'chat')).body).toMatchObject({ alias: 'chat', shared_with: null })
  await expectChat(member, 'chat', 200)
  await expectChat(member, longest, 404)
  await expectChat(viewer, 'chat', 404)
  await share(member, id)
  for (const colleague of [viewer, admin]) await expectChat(colleague, 'chat', 200)
  expect((await chat(stranger, 'chat')).status).toBe(404)
  expect((await viewer.get('/v1/models')).body.data.map((model: any) => model.id)).toEqual([
    'berth-tiny',
    'chat',
  ])
  expect((await viewer.get('/v1/models/chat')).body.deployments).toEqual([id])

  const served = async (by: Client, model: string) => (await by.get(`/v1/models/${model}`)).body.deployments
  const { id: own } = await deploy(admin)
  expect(await served(admin, 'chat')).toEqual([id])
  await name(admin, own, 'chat')
  expect(await served(admin, 'chat')).toEqual([own])
  expect(await served(viewer, 'chat')).toEqual([id])
  const { id: second } = await deploy(member)
  await name(member, second, 'chat')
  expect(await served(member, 'chat')).toEqual([second, id])
  await name(member, second, 'berth-tiny')
  expect(await served(member, 'berth-tiny')).toEqual([second])
  expect((await name(member, id, null)).body.alias).toBeNull()
  await expectChat(member, 'chat', 404)
  const { items } = (await member.get(`${path}/${id}/events`)).body
  expect(items.map(({ message }: { message: string }) => message)).toContain(
    'Requests reach the model by the alias chat from now on.',
  )
  await member.delete(`${path}/${second}`)
  expect((await name(member, second, 'late')).body.code).toBe('deployment_ended')
})

test('fields that would affect others never reach a shared engine', async () => {
  const { member, viewer, id } = await setUp()
  const lora = [{ id: 0, scale: 1 }]
  const fields = { priority: -1, cache_salt: 'x', id_slot: 0 }
  expect((await chat(member, id, { ...fields, lora })).status).toBe(200)
  expect(lastBody(), 'the owner is alone').toMatchObject({ ...fields, lora })
  await share(member, id)
  for (const caller of [member, viewer]) {
    await vi.waitFor(async () => expect((await chat(caller, id, { lora })).status).toBe(400), patience)
    expect((await chat(caller, id, { ...fields, x: 1 })).status).toBe(200)
    expect(lastBody()).toMatchObject({ x: 1, priority: 0, cache_salt: null, id_slot: -1 })
    const { status, body } = await chat(caller, id, { lora })
    expect([status, body.error?.message]).toEqual([400, expect.stringContaining('`lora`')])
    expect((await chat(caller, id, { lora: null })).status).toBe(200)
  }
})

const lastBody = () => JSON.parse(engine.requests.at(-1)!.body)

test('only the owner sees how much of a prompt was cached', async () => {
  const { member, viewer, admin, id } = await setUp()
  await share(member, id)
  await expectChat(viewer, id, 200)
  const usage =
    '"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":7}}'
  engine.answer((response) => answerJson(response, `{"choices":[],${usage}}`))
  const readCached = async (by: Client) =>
    (await chat(by, id)).body.usage.prompt_tokens_details.cached_tokens as number
  expect(await Promise.all([member, viewer, admin].map(readCached))).toEqual([7, 0, 0])
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: {"choices":[],${usage}}\n\ndata: [DONE]\n\n`)
  })
  const readStream = async (by: Client) => {
    const more = { stream: true, stream_options: { include_usage: true } }
    const answer = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { cookie: by.cookie(), 'content-type': 'application/json' },
      body: JSON.stringify({ model: id, messages: [], ...more }),
    })
    return /"cached_tokens":(\d+)/.exec(await answer.text())![1]
  }
  expect(await Promise.all([member, viewer, admin].map(readStream))).toEqual(['7', '0', '0'])
  await member.patch(`${path}/${id}`, { cache_scope: 'member' })
  await vi.waitFor(async () => expect(await readStream(viewer), 'of their own').toBe('7'), patience)
  answerChats(engine)
})

test('tokens are recorded for the caller', async () => {
  const { member, viewer, admin, id } = await setUp()
  await share(member, id)
  engine.answer((response) =>
    response.end('{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}'),
  )
  const callers = [member, viewer, viewer, admin]
  await server.application.tokens.flush()
  await server.application.db.deleteFrom('token_usage').where('deployment_id', '=', id).execute()
  for (const caller of callers) expect((await chat(caller, id)).status).toBe(200)
  answerChats(engine)
  const users = await Promise.all(
    callers.map(async (each): Promise<number> => (await each.get('/v1/auth/session')).body.user.id),
  )
  const read = () =>
    server.application.db
      .selectFrom('token_usage')
      .select(({ fn }) => [
        'user_id',
        fn.sum('requests').as('requests'),
        fn.sum('output_tokens').as('tokens'),
      ])
      .where('deployment_id', '=', id)
      .groupBy('user_id')
      .orderBy('user_id')
      .execute()
  const expected = [...new Set(users)]
    .toSorted((one, other) => one - other)
    .map((user_id) => {
      const requests = users.filter((each) => each === user_id).length
      return { user_id, requests: String(requests), tokens: String(requests * 2) }
    })
  await expect.poll(read).toEqual(expected)
  const rows = (await admin.get('/v1/billing/usage?group_by=member')).body.items
  const outputs = rows.filter(({ meter }: { meter: string }) => meter === 'inference_output_tokens')
  expect(Object.fromEntries(outputs.map((row: any) => [row.user_id, row.quantity]))).toEqual(
    Object.fromEntries(expected.map(({ user_id, tokens }) => [user_id, tokens])),
  )
})

test('GET /v1/user/export: what a person used of a shared deployment, without that of other callers', async () => {
  const { member, viewer, admin, id } = await setUp()
  await share(member, id)
  engine.answer((response) =>
    response.end('{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}'),
  )
  for (const caller of [viewer, viewer, admin, member]) await expectChat(caller, id, 200)
  answerChats(engine)
  const about = { deployment_id: id, model_name: 'berth-tiny', hour: expect.any(String) }
  for (const [client, requests] of [
    [viewer, 2],
    [member, 1],
  ] as const) {
    await expect
      .poll(async () => (await client.get('/v1/user/export')).body.usage)
      .toMatchObject([{ ...about, requests, input_tokens: 3 * requests, output_tokens: 2 * requests }])
  }
})

test('statistics by member: everybody for the owner and admins, only themselves for others', async () => {
  const { member, viewer, admin, superAdmin, id } = await setUp()
  await share(member, id)
  await expectChat(viewer, id, 200)
  await expect
    .poll(async () => {
      await server.application.inference.statistics.flush()
      return (await viewer.get(`${path}/${id}/statistics${team}`)).body.requests
    })
    .toBe(1)
  for (const caller of [viewer, admin]) expect((await chat(caller, id)).status).toBe(200)
  const read = async (by: Client) => {
    await server.application.inference.statistics.flush()
    const { requests, members } = (await by.get(`${path}/${id}/statistics${team}`)).body
    return { requests, members: members.map((each: any) => [each.email, each.requests]) }
  }
  const own = [viewer.email, 2]
  const all = { requests: 3, members: [own, [admin.email, 1]] }
  await expect.poll(() => read(member)).toEqual(all)
  for (const manager of [admin, superAdmin]) expect(await read(manager)).toEqual(all)
  expect(await read(viewer)).toEqual({ requests: 3, members: [own] })
  const colleague = await joinClient(server, admin, 'member')
  expect(await read(colleague)).toEqual({ requests: 3, members: [] })
})

test('admins share, change and end deployments of members; the audit log names the owner', async () => {
  const { member, viewer, admin, superAdmin, id } = await setUp()
  expect((await share(admin, id)).body.shared_with).toBe('organization')
  await expectChat(viewer, id, 200)
  expect((await admin.patch(`${path}/${id}${team}`, { min_context_tokens: 600 })).status).toBe(200)
  expect((await superAdmin.delete(`${path}/${id}${team}`)).body.status).toBe('terminating')
  const log = (await admin.get('/v1/organization/audit-log')).body.items
  const acts = log.filter(({ action }: { action: string }) =>
    ['deployment.updated', 'deployment.terminated'].includes(action),
  )
  expect(acts.map(({ action }: { action: string }) => action)).toEqual([
    'deployment.terminated',
    'deployment.updated',
    'deployment.updated',
  ])
  for (const { target, details } of acts) {
    expect(target).toMatchObject({ type: 'user', name: member.email })
    expect(details).toMatchObject({ deployment: id, model: 'berth-tiny' })
  }
})

test('an admin of another organization has no say', async () => {
  const { id } = await setUp()
  const outsider = await registerClient(server.url)
  expect((await share(outsider, id)).status).toBe(404)
  expect((await outsider.delete(`${path}/${id}${team}`)).status).toBe(404)
})
