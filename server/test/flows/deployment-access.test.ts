import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { answerChats, openChat } from '../support/chat-streams.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { openEventStream } from '../support/event-stream.ts'
import { invite, joinClient } from '../support/organizations.ts'
import type { Account } from '../support/organizations.ts'
import { startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { addTotp } from '../support/second-factors.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { openSession } from '../support/sessions.ts'

const path = '/api/v1/model-deployments'
const patience = 20_000

let engine: RecordingEngine
let server: TestServer
beforeAll(async () => {
  engine = await startRecordingEngine()
  answerChats(engine)
  server = await startTestServer({ runtime: createScriptedRuntime(engine.url) })
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

/** A member of an organization with a deployment there, and another organization in which they are admin. */
async function setUp() {
  const owner = await registerClient(server.url)
  const member = await joinClient(server, owner, 'member')
  const { id } = await deploy(member)
  const { id: home } = (await owner.get('/v1/organization')).body
  const elsewhere = await registerClient(server.url, { organization: 'Elsewhere' })
  const { token } = await invite(server, elsewhere, { email: member.email, role: 'admin' })
  expect((await member.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  const { id: away } = (await member.get('/v1/organization')).body
  expect(away).not.toBe(home)
  return { owner, member, id, home, away }
}

function switchTo(client: Client, current_organization_id: number) {
  return client.patch('/v1/user/profile', { current_organization_id })
}

async function setRole(owner: Client, member: Account, role: string): Promise<void> {
  const { id } = await findMember(owner, member)
  expect((await owner.patch(`/v1/organization/members/${id}`, { role })).status).toBe(200)
}

async function findMember(owner: Client, { email }: Account) {
  const members = (await owner.get('/v1/organization/members')).body
  return members.find((member: { email: string }) => member.email === email)
}

function chat(client: Client, model: string) {
  return client.post('/v1/chat/completions', { model, messages: [] })
}

async function expectChat(client: Client, model: string, status: number, code?: string): Promise<void> {
  await vi.waitFor(async () => {
    const answer = await chat(client, model)
    expect([answer.status, answer.body.error?.code]).toEqual([status, code])
  }, patience)
}

test('a member who was demoted to viewer changes nothing by switching to another organization, but may end it', async () => {
  const { owner, member, id, home, away } = await setUp()
  const change = { min_context_tokens: 600 }
  expect(
    (await member.patch(`${path}/${id}`, change)).status,
    'the current organization is another one',
  ).toBe(200)
  await setRole(owner, member, 'viewer')
  for (const organization of [away, home]) {
    await switchTo(member, organization)
    expect((await member.get(`${path}/${id}`)).status).toBe(200)
    expect(await member.patch(`${path}/${id}`, { min_context_tokens: 601 })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
  }
  expect((await member.get(`${path}/${id}`)).body).toMatchObject({ status: 'running', ...change })
  const refused = (await owner.get('/v1/organization/audit-log?action=permission.refused')).body.items
  const types = refused.map(({ target }: { target: { type: string } }) => target.type)
  expect(types).toEqual(['deployment', 'deployment'])
  await switchTo(member, away)
  expect((await member.delete(`${path}/${id}`)).status).toBe(200)
})

test('a viewer of the current organization changes and ends what they own in another one', async () => {
  const { member, id, home } = await setUp()
  const elsewhere = await registerClient(server.url)
  const { token } = await invite(server, elsewhere, { email: member.email, role: 'viewer' })
  await member.post(`/v1/invitations/by-token/${token}/accept`)
  expect((await member.post(path, { model_name: 'berth-tiny' })).status).toBe(403)
  expect((await member.patch(`${path}/${id}`, { min_context_tokens: 600 })).status).toBe(200)
  expect((await member.delete(`${path}/${id}`)).body).toMatchObject({
    status: 'terminating',
    organization_id: String(home),
  })
})

test('a member without the required second factor reaches nothing by switching, and streams end', async () => {
  const { owner, member, id, home, away } = await setUp()
  await expectChat(member, id, 200)
  const stream = await openChat(server.url, member, id)
  const events = await openEventStream(server.url, `${path}/${id}/events`, member)
  await addTotp(owner)
  expect((await owner.patch('/v1/organization', { requires_second_factor: true })).status).toBe(200)
  await stream.ended
  while ((await events.next()) !== null);
  const refusal = { status: 403, body: { code: 'second_factor_setup_required' } }
  for (const organization of [away, home]) {
    await switchTo(member, organization)
    await expectChat(member, id, 403, 'second_factor_setup_required')
    for (const suffix of ['', '/events', '/logs', '/usage', '/statistics', '/activity']) {
      expect(await member.get(`${path}/${id}${suffix}`), suffix).toMatchObject(refusal)
    }
    expect(await member.patch(`${path}/${id}`, {})).toMatchObject(refusal)
    expect(await member.delete(`${path}/${id}`)).toMatchObject(refusal)
    expect((await member.get(`/v1/models/${id}`)).status).toBe(403)
  }
  await switchTo(member, away)
  expect((await member.get(path)).body).toMatchObject({ items: [], total: 0 })
  expect((await member.get('/v1/models')).body.data).toEqual([])
  await addTotp(member)
  await expectChat(member, id, 200)
  expect((await member.get(path)).body).toMatchObject({ items: [{ id }], total: 1 })
})

test('a session with the factor of the identity provider calls what a password session of the same person may not', async () => {
  const { owner, member, id } = await setUp()
  const { user } = (await member.get('/v1/auth/session')).body
  const token = await openSession(server, user.id, 'oidc')
  await addTotp(owner)
  expect((await owner.patch('/v1/organization', { requires_second_factor: true })).status).toBe(200)
  await expectChat(member, id, 403, 'second_factor_setup_required')
  const answer = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: `berth_session=${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: id, messages: [] }),
  })
  expect(answer.status).toBe(200)
  await expectChat(member, id, 403, 'second_factor_setup_required')
})

test('the deployments of a suspended organization are out of reach, and streams end', async () => {
  const { member, id, home, away } = await setUp()
  await expectChat(member, id, 200)
  const stream = await openChat(server.url, member, id)
  await setStatus(home, 'suspended')
  await stream.ended
  for (const organization of [away, home]) {
    await switchTo(member, organization)
    await expectChat(member, id, 403, 'organization_suspended')
    const refusal = { status: 403, body: { code: 'organization_suspended' } }
    expect(await member.patch(`${path}/${id}`, {})).toMatchObject(refusal)
    expect(await member.delete(`${path}/${id}`)).toMatchObject(refusal)
    expect((await member.get(`${path}/${id}`)).status).toBe(200)
  }
  await setStatus(home, 'active')
  await setStatus(away, 'suspended')
  await switchTo(member, away)
  await expectChat(member, id, 200)
  expect((await member.patch(`${path}/${id}`, {})).status).toBe(200)
  await setStatus(away, 'active')
})

async function setStatus(id: number, status: 'active' | 'suspended'): Promise<void> {
  await server.application.db.updateTable('organizations').set({ status }).where('id', '=', id).execute()
}

test('a model name spreads over the organizations that allow the call, and no further', async () => {
  const { member, id, home, away } = await setUp()
  const { id: other } = await deploy(member)
  const listed = async () => (await member.get('/v1/models')).body.data[0].deployments.toSorted()
  expect(await listed()).toEqual([id, other].toSorted())
  await setStatus(home, 'suspended')
  await expectChat(member, id, 403, 'organization_suspended')
  await expectChat(member, 'berth-tiny', 200)
  expect(await listed()).toEqual([other])
  expect((await member.get('/v1/models/berth-tiny')).body.deployments).toEqual([other])
  await setStatus(away, 'suspended')
  await expectChat(member, 'berth-tiny', 403, 'organization_suspended')
  await setStatus(home, 'active')
  await setStatus(away, 'active')
})

test('the list holds what the person may read: former organizations and their deployments are gone from it', async () => {
  const { owner, member, id, away } = await setUp()
  const { id: other } = await deploy(member)
  const ids = async () => {
    const { items, total } = (await member.get(path)).body
    return { ids: items.map((item: { id: string }) => item.id), total }
  }
  expect(await ids()).toEqual({ ids: [other, id], total: 2 })
  const { id: memberId } = await findMember(owner, member)
  expect((await owner.delete(`/v1/organization/members/${memberId}?deployments=end`)).status).toBe(204)
  expect((await member.get('/v1/organization')).body.id).toBe(away)
  expect(await ids()).toEqual({ ids: [other], total: 1 })
  for (const suffix of ['', '/events', '/logs', '/usage', '/statistics', '/activity']) {
    expect((await member.get(`${path}/${id}${suffix}`)).status, suffix).toBe(404)
  }
  await expectChat(member, id, 404, 'model_not_found')
})

test('a stream whose caller loses access while the body arrives ends', async () => {
  const { member, id } = await setUp()
  await expectChat(member, id, 200)
  const { sessions } = server.application
  const size = sessions.size()
  const body = JSON.stringify({ model: id, stream: true, messages: [] })
  const headers = {
    cookie: member.cookie(),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const message = httpRequest(`${server.url}/v1/chat/completions`, { method: 'POST', headers })
  const arrived = once(server.app.server, 'request')
  const ended = new Promise<void>((resolve) => {
    message.on('response', (response) => {
      response.resume()
      // The engine may have begun to respond.
      response.on('error', () => undefined)
      response.on('close', resolve)
    })
  })
  message.write(body.slice(0, 10))
  await arrived
  await member.post('/v1/user/logout')
  await vi.waitFor(() => expect(sessions.size()).toBeLessThan(size), patience)
  message.end(body.slice(10))
  await ended
})
