import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let client: Client
let deploymentId: string
beforeAll(async () => {
  server = await startTestServer({ worker: false, runtime: createScriptedRuntime() })
  client = await registerClient(server.url)
  deploymentId = (await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).body.id
})
afterAll(() => server.close())

/** Reads the raw response: `fetch` would decompress it. */
function open(path: string, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(server.url + path, { headers: { cookie: client.cookie(), ...headers } }, resolve).on('error', reject)
  })
}

test.each(['/api/v1/deployable-models', '/api/v1/placements'])(
  'GET %s is compressed only for clients that accept gzip',
  async (path) => {
    const plain = await open(path, {})
    const expected = await buffer(plain)
    expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding', 'content-length': `${expected.length}` })
    expect(plain.headers).not.toHaveProperty('content-encoding')
    const compressed = await open(path, { 'accept-encoding': 'br;q=1, gzip;q=0.5' })
    const received = await buffer(compressed)
    expect(compressed.headers).toMatchObject({
      vary: 'Accept-Encoding',
      'content-encoding': 'gzip',
      'content-length': `${received.length}`,
      'content-type': 'application/json; charset=utf-8',
    })
    expect(gunzipSync(received).equals(expected)).toBe(true)
    expect(received.length).toBeLessThan(expected.length / 5)
    const refused = await open(path, { 'accept-encoding': 'gzip;q=0, identity' })
    expect(refused.headers).not.toHaveProperty('content-encoding')
    expect((await buffer(refused)).equals(expected)).toBe(true)
  },
)

test('short responses, lists of a user’s own objects and event streams are never compressed', async () => {
  const acceptsGzip = { 'accept-encoding': 'gzip' }
  for (const path of [
    '/api/v1/deployable-models?q=no-such-model',
    '/api/v1/model-deployments',
    '/v1/models',
  ]) {
    const answer = await open(path, acceptsGzip)
    expect(answer.headers).not.toHaveProperty('content-encoding')
    JSON.parse((await buffer(answer)).toString())
  }
  const events = await open(`/api/v1/model-deployments/${deploymentId}/events`, {
    ...acceptsGzip,
    accept: 'text/event-stream',
  })
  expect(events.headers['content-type']).toContain('text/event-stream')
  expect(events.headers).not.toHaveProperty('content-encoding')
  events.destroy()
})
