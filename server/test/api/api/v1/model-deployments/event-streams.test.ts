import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { openEventStream } from '../../../../support/event-stream.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const prefix = '/api/v1/model-deployments'
const config = { eventStreams: { perUser: 2, perProcess: 3 } }

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, runtime: createScriptedRuntime(), config })
})
afterAll(() => server.close())

async function register() {
  const client = await registerClient(server.url)
  const { id } = (await client.post(prefix, { model_name: 'berth-tiny' })).body
  return { client, id }
}

/** Opens the stream of a deployment's events and waits for the first one. */
async function follow({ client, id }: { client: Client; id: string }) {
  const stream = await openEventStream(server.url, `${prefix}/${id}/events`, client)
  if (stream.status === 200) await stream.next()
  return stream
}

test('event streams above the limit of a user or a process are a 429 until others end', async () => {
  const [one, two] = [await register(), await register()]
  const first = await follow(one)
  const second = await follow(one)
  const refused = await follow(one)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30'])
  expect((await one.client.get(`${prefix}/${one.id}/events`)).status).toBe(200)
  const third = await follow(two)
  expect(third.status).toBe(200)
  expect((await follow(two)).status).toBe(429)
  first.close()
  const next = await vi.waitFor(async () => {
    const stream = await follow(two)
    expect(stream.status).toBe(200)
    return stream
  }, 20_000)
  for (const stream of [second, third, next]) stream.close()
})

test('renaming an organization notifies its members only', async () => {
  const { client } = await register()
  await register()
  const { user } = (await client.get('/v1/auth/session')).body
  const listener = new pg.Client(server.application.config.databaseUrl!)
  await listener.connect()
  try {
    const payloads: (string | undefined)[] = []
    listener.on('notification', ({ payload }) => payloads.push(payload))
    await listener.query('LISTEN viewer_renamed')
    expect((await client.request('PATCH', '/v1/organization', { name: 'Renamed' })).status).toBe(200)
    // Its notification follows those of the change.
    await listener.query(`SELECT pg_notify('viewer_renamed', 'last')`)
    await vi.waitFor(() => expect(payloads).toContain('last'), 20_000)
    expect(payloads).toEqual([String(user.id), 'last'])
    expect((await client.get('/v1/auth/session')).body.user.organization).toBe('Renamed')
  } finally {
    await listener.end()
  }
})
