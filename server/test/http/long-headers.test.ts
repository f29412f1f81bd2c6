import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

const code = 'headers_too_large'

test.each([
  ['/api/v1/model-deployments', { code, status: 431, title: 'Request Header Fields Too Large' }],
  ['/v1/chat/completions', { error: { code, type: 'invalid_request_error' } }],
  ['/v1/messages', { type: 'error', error: { type: 'invalid_request_error' } }],
])('headers above 16 KiB are a 431 in the format of %s, also for a POST', async (path, expected) => {
  const ask = (bytes: number) => client.request('POST', path, {}, { 'x-long': 'a'.repeat(bytes) })
  expect((await ask(15_000)).status).not.toBe(431)
  expect(await ask(17_000)).toMatchObject({ status: 431, body: expected })
  expect((await ask(15_000)).status).not.toBe(431)
})

test('headers that are far longer are a 431 that a caller can read while it still sends', async () => {
  const { port } = new URL(server.url)
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true }).setEncoding('utf8')
  let text = ''
  socket.on('data', (piece: string) => (text += piece))
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-long: `)
  // More than the buffers of both ends hold, so that the last bytes leave after the response.
  socket.write('a'.repeat(16 * 1024 * 1024))
  await once(socket, 'end')
  socket.destroy()
  const [head = '', body = ''] = text.split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  const problem = JSON.parse(body)
  expect(problem).toMatchObject({ status: 431, code, error: { code, message: problem.detail } })
})
