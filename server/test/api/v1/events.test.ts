import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { joinClient } from '../../support/organizations.ts'
import { createScriptedRuntime } from '../../support/scripted-runtime.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const deployments = '/api/v1/model-deployments'

let runtime: ReturnType<typeof createScriptedRuntime>
let server: TestServer
beforeAll(async () => {
  runtime = createScriptedRuntime()
  server = await startTestServer({ runtime })
})
afterAll(() => server.close())

const open = (client: Client) => openEventStream(server.url, '/v1/events', client)
const deploy = async (client: Client) =>
  (await client.post(deployments, { model_name: 'berth-tiny' })).body.id as string

/** Reads a stream until a deployment has this status. */
async function readUntil(stream: Awaited<ReturnType<typeof open>>, id: string, status: string) {
  const seen = []
  for (let next = await stream.next(); next !== null; next = await stream.next()) {
    seen.push(next)
    if (next.data.deployment_id === id && next.data.status === status) return seen
  }
  throw new Error('The stream has ended.')
}

test('GET /v1/events: a stream tells each change of one’s own deployments once, and nothing of others', async () => {
  const [client, other] = [await registerClient(server.url), await registerClient(server.url)]
  const stream = await open(client)
  expect(stream.status).toBe(200)
  await deploy(other)
  const id = await deploy(client)
  const seen = await readUntil(stream, id, 'running')
  expect(seen.every(({ event, data }) => event === 'deployment' && data.deployment_id === id)).toBe(true)
  const statuses = seen.map(({ data }) => data.status)
  expect(new Set(statuses).size).toBe(statuses.length)
  await client.post(`${deployments}/${id}/sleep`)
  const [last] = (await readUntil(stream, id, 'sleeping')).slice(-1)
  expect(last!.data).toEqual({
    deployment_id: id,
    name: 'berth-tiny',
    at: expect.any(String),
    status: 'sleeping',
    failure_reason: null,
    cause: 'person',
    foreign_act: null,
  })
  stream.close()
  const { items } = (await client.get('/v1/events')).body
  expect(items).toEqual([last!.data])
})

test('GET /v1/events: a stream begins with what became of deployments meanwhile', async () => {
  const client = await registerClient(server.url)
  const first = await open(client)
  const id = await deploy(client)
  await readUntil(first, id, 'running')
  first.close()
  const second = await open(client)
  expect(await readUntil(second, id, 'running')).toHaveLength(1)
  second.close()
})

test('GET /v1/events: a stream tells what others did to a deployment, and not what its owner did', async () => {
  const admin = await registerClient(server.url)
  const member = await joinClient(server, admin, 'member')
  const id = await deploy(member)
  const stream = await open(member)
  await readUntil(stream, id, 'running')
  const { name } = (await admin.get('/v1/auth/session')).body.user
  const of = (act: string) => ({ act, by: name, at: expect.any(String) })

  await member.patch(`${deployments}/${id}`, { idle_minutes: 30 })
  await admin.patch(`${deployments}/${id}?scope=organization`, { idle_minutes: 20 })
  expect((await stream.next())!.data).toMatchObject({ status: 'running', foreign_act: of('settings') })
  await admin.post(`${deployments}/${id}/sleep?scope=organization`)
  const [asleep] = (await readUntil(stream, id, 'sleeping')).slice(-1)
  expect(asleep!.data).toMatchObject({ cause: 'person', foreign_act: of('sleep') })
  await member.post(`${deployments}/${id}/wake`)
  await readUntil(stream, id, 'running')
  await admin.request('DELETE', `${deployments}/${id}?scope=organization`)
  const [ending] = (await readUntil(stream, id, 'terminating')).slice(-1)
  expect(ending!.data.foreign_act).toEqual(of('termination'))
  stream.close()
  const { items } = (await member.get(`${deployments}/${id}/activity`)).body
  expect(items).toContainEqual(expect.objectContaining({ stage: 'termination', by: name, change: null }))
})

test('GET /v1/events: a stream ends with the session and with the membership', async () => {
  const owner = await registerClient(server.url)
  const member = await joinClient(server, owner, 'member')
  const { id: userId } = (await member.get('/v1/auth/session')).body.user
  const stream = await open(member)
  await server.application.db.deleteFrom('memberships').where('user_id', '=', userId).execute()
  expect(await stream.next()).toBeNull()

  const own = await open(owner)
  await owner.post('/v1/user/logout')
  expect(await own.next()).toBeNull()
})

test('GET /v1/events: streams of a person are limited', async () => {
  const client = await registerClient(server.url)
  const streams = await Promise.all(Array.from({ length: 20 }, () => open(client)))
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]))
  const refused = await open(client)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30'])
  for (const stream of streams) stream.close()
})
