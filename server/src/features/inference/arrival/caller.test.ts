import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { writeResponseHead } from './caller.ts'

/** Responds with an engine's head. Returns the request's head as Node keeps it during the response. */
async function respond(streams: boolean) {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  const server = createServer((_request, response) => resolve(response))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const answer = fetch(`http://127.0.0.1:${port}`, { headers: { 'x-long': 'x'.repeat(10_000) } })
  const raw = await promise
  const reply = { raw, header() {}, getHeaders: () => ({}), send() {}, hijack() {} }
  writeResponseHead(reply, { status: 200, headers: {}, length: null }, null, streams)
  const { headers, rawHeaders } = raw.req
  raw.end('text')
  expect(await (await answer).text()).toBe('text')
  server.close()
  return { headers, rawHeaders }
}

test('a stream does not keep the head of its request', async () => {
  expect(await respond(true)).toEqual({ headers: {}, rawHeaders: [] })
})

test('other responses keep the head of their request', async () => {
  expect((await respond(false)).headers['x-long']).toHaveLength(10_000)
})
