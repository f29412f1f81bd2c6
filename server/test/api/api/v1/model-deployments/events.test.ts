import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../../support/client.ts'
import { deploy } from '../../../../support/deployments.ts'
import { openEventStream } from '../../../../support/event-stream.ts'
import type { EventStream, StreamedEvent } from '../../../../support/event-stream.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'

async function start() {
  const runtime = createScriptedRuntime()
  const server = await startTestServer({ runtime })
  const client = await registerClient(server.url)
  return { runtime, server, client }
}

async function readUntil(stream: EventStream, status: string): Promise<StreamedEvent[]> {
  const seen: StreamedEvent[] = []
  while (seen.at(-1)?.data.status !== status) {
    const event = await stream.next()
    if (event === null) throw new Error(`the stream ended before ${status}`)
    seen.push(event)
  }
  return seen
}

let world: Awaited<ReturnType<typeof start>>
beforeAll(async () => {
  world = await start()
})
afterAll(() => world.server.close())

test('GET …/{id}/events: {items: [{id, at, status, stage, message, instance_type, transition}]}, oldest first', async () => {
  const { client } = world
  const created = await deploy(client)
  const answer = await client.get(`${path}/${created.id}/events`)
  expect(answer.status).toBe(200)
  expect(Object.keys(answer.body)).toEqual(['items'])
  expect(answer.body.items.map(({ status, stage }: any) => [status, stage])).toEqual([
    ['requested', null],
    ['provisioning', 'instance_selection'],
    ['deploying', 'provisioning'],
    ['running', null],
  ])
  expect(answer.body.items.map(({ instance_type }: any) => instance_type)).toEqual([
    null,
    'small',
    null,
    null,
  ])
  expect(answer.body.items[0].at).toBe(created.created_at)
  for (const item of answer.body.items) {
    const keys = ['id', 'at', 'status', 'stage', 'message', 'instance_type', 'transition']
    expect(Object.keys(item)).toEqual(keys)
    expect(item.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(item.message).toMatch(/\S.*\.$/)
  }
})

test('GET …/{id}/events with Accept: text/event-stream: existing events, then new ones, each once', async () => {
  const { client, runtime, server } = world
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Soon.' }) })
  const { id } = await deploy(client, 'berth-tiny', 'deploying')
  const stream = await openEventStream(server.url, `${path}/${id}/events`, client)
  expect(stream.status).toBe(200)
  expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const past = await readUntil(stream, 'deploying')
  runtime.reset()
  const untilRunning = await readUntil(stream, 'running')
  await client.delete(`${path}/${id}`)
  const untilEnd = await readUntil(stream, 'terminated')
  stream.close()
  const streamed = [...past, ...untilRunning, ...untilEnd]
  expect(new Set(streamed.map(({ event }) => event))).toEqual(new Set(['status']))
  const { items } = (await client.get(`${path}/${id}/events`)).body
  expect(streamed.map(({ data }) => data)).toEqual(items)
})

test('GET …/{id}/events: a stream contains no events of other deployments', async () => {
  const { client, server } = world
  const one = await deploy(client)
  const stream = await openEventStream(server.url, `${path}/${one.id}/events`, client)
  await readUntil(stream, 'running')
  await deploy(client)
  await client.delete(`${path}/${one.id}`)
  expect((await stream.next())?.data.status).toBe('terminating')
  stream.close()
})

test('GET …/{id}/events with Accept: text/event-stream: 404 for an unknown deployment', async () => {
  const { client, server } = world
  const stream = await openEventStream(
    server.url,
    `${path}/01890000-0000-7000-8000-000000000000/events`,
    client,
  )
  expect(stream.status).toBe(404)
  stream.close()
})

test('GET …/{id}/logs with Accept: text/event-stream: begins with the last lines, 200 or ?tail=N', async () => {
  const { client, runtime, server } = world
  const { id } = await deploy(client)
  const lines = Array.from({ length: 201 }, (_, index) => `line ${index}`)
  runtime.logLines.push(...lines.map((line) => ({ at: new Date(), line })))
  for (const [query, expected] of [
    ['', lines.slice(1)],
    ['?tail=2', lines.slice(-2)],
    ['?tail=0', []],
  ] as const) {
    const stream = await openEventStream(server.url, `${path}/${id}/logs${query}`, client)
    const seen: unknown[] = []
    for (let event = await stream.next(); event !== null; event = await stream.next())
      seen.push(event.data.line)
    expect(seen).toEqual(expected)
  }
  expect((await client.get(`${path}/${id}/logs`)).body.items).toHaveLength(201)
  expect((await client.get(`${path}/${id}/logs?tail=2`)).body.items).toMatchObject(
    lines.slice(-2).map((line) => ({ line })),
  )
  for (const tail of ['-1', '1001', 'all']) {
    expect((await client.get(`${path}/${id}/logs?tail=${tail}`)).status).toBe(422)
  }
})

test.each(['events', 'logs'])(
  'GET …/{id}/%s: a stream ends with the session that opened it',
  async (what) => {
    const { client, runtime, server } = world
    runtime.logs.follow = async function* (_id, _tail, signal) {
      yield { at: new Date(), line: 'ready' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    }
    const { id } = await deploy(client)
    const second = createClient(server.url)
    await second.post('/v1/user/signin', { email: client.email, password: client.password })
    const stays = await openEventStream(server.url, `${path}/${id}/events`, client)
    const ends = await openEventStream(server.url, `${path}/${id}/${what}`, second)
    if (what === 'events') await readUntil(ends, 'running')
    else expect((await ends.next())?.data.line).toBe('ready')
    await second.post('/v1/user/logout')
    expect(await ends.next()).toBeNull()
    await readUntil(stays, 'running')
    await client.delete(`${path}/${id}`)
    await readUntil(stays, 'terminated')
    stays.close()
  },
)

test('GET …/{id}/events: a stream ends when the server shuts down', async () => {
  const { client, server } = await start()
  const { id } = await deploy(client)
  const stream = await openEventStream(server.url, `${path}/${id}/events`, client)
  await readUntil(stream, 'running')
  const closed = server.app.close()
  expect(await stream.next()).toBeNull()
  await closed
  await server.close()
})
