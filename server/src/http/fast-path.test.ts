import Fastify from 'fastify'
import { request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test, vi } from 'vitest'
import { parseNetworks } from '../base/network.ts'
import type { Viewer } from '../base/viewer.ts'
import type { App } from './app.ts'
import { toPublicError } from './errors.ts'
import { openFastPath } from './fast-path.ts'
import { refuseCrossSite, refuseDuplicateHost, refuseUnknownHosts } from './guards.ts'
import { parseRawBodies } from './raw-body.ts'

const viewer = { userId: 1, role: 'admin', organizationStatus: 'active', allowedNetworks: null } as Viewer
const headers = { 'content-type': 'application/json', cookie: 'session=good' }

let app: App
afterEach(() => app.close())

/** Starts a server whose Fastify and fast path name themselves in each response. */
async function start(handle: (body: Buffer) => string = (body) => body.toString()) {
  app = Fastify()
  const shuttingDown = new AbortController()
  const measureRequest = vi.fn()
  app.decorate('shuttingDown', shuttingDown)
  app.decorate('ending', new AbortController())
  app.decorate('measureRequest', measureRequest)
  const watchRate = vi.fn()
  openFastPath(app, {
    headers: { 'x-own': 'yes' },
    guards: [
      refuseDuplicateHost,
      refuseUnknownHosts([]),
      refuseCrossSite({ publicOrigin: 'http://127.0.0.1', trustedOrigins: [] }),
    ],
    findViewer: (cookies) =>
      cookies === 'session=good'
        ? viewer
        : cookies === 'session=reader'
          ? { ...viewer, role: 'viewer' }
          : cookies === 'session=program'
            ? { ...viewer, allowedNetworks: parseNetworks(['10.0.0.0/8']) }
            : null,
    findAddress: ({ headers: { 'x-address': address } }) => (address as string | undefined) ?? null,
    watchRate,
  })
  app.post('/echo', async () => 'fastify')
  app.fastPath.add({
    path: '/echo',
    config: { permission: 'createDeployments' },
    parse: parseRawBodies(100),
    composeError: (error) => ({
      status: toPublicError(error).status,
      headers: { 'x-error': 'yes' },
      body: JSON.stringify({ error: (error as Error).message }),
    }),
    handle(call, body) {
      const answer = handle(body)
      call.raw.writeHead(200, call.getHeaders()).end(answer)
    },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return { port, shuttingDown, measureRequest, watchRate }
}

async function send(
  port: number,
  given: { headers?: IncomingHttpHeaders; path?: string; method?: string; body?: string } = {},
) {
  const { path = '/echo', method = 'POST', body = '{"a":1}' } = given
  const length = { 'content-length': Buffer.byteLength(body) }
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { ...headers, ...length, ...given.headers },
  }).end(body)
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    request.once('response', resolve).once('error', reject),
  )
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

test('a plain request passes by Fastify, with the headers of every response, and its connection is watched', async () => {
  const { port, watchRate } = await start()
  const answer = await send(port)
  expect(answer).toMatchObject({ status: 200, body: '{"a":1}', headers: { 'x-own': 'yes' } })
  expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  expect(watchRate).toHaveBeenCalledOnce()
})

test.each([
  ['an origin', { headers: { origin: 'http://127.0.0.1' } }],
  ['fetch metadata', { headers: { 'sec-fetch-site': 'cross-site' } }],
  ['another host', { headers: { host: 'evil.example' } }],
  ['a forwarded host', { headers: { 'x-forwarded-host': 'evil.example' } }],
  ['an unknown session', { headers: { cookie: 'session=bad' } }],
  ['a role without the permission', { headers: { cookie: 'session=reader' } }],
  ['a service member at an unknown address', { headers: { cookie: 'session=program' } }],
  ['a service member elsewhere', { headers: { cookie: 'session=program', 'x-address': '192.0.2.7' } }],
  ['another content type', { headers: { 'content-type': 'application/json; charset=latin1' } }],
  ['no body', { body: '' }],
  ['chunks', { headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' } }],
  ['a query', { path: '/echo?a' }],
] as const)('Fastify serves a request with %s', async (_what, given) => {
  const { port, watchRate } = await start()
  const sent = { ...given, headers: { ...('headers' in given ? given.headers : {}) } as IncomingHttpHeaders }
  if (sent.headers['content-length'] === undefined) delete sent.headers['content-length']
  expect((await send(port, sent)).body).not.toContain('{"a":1}')
  expect(watchRate).not.toHaveBeenCalled()
})

test('a service member in its networks passes by Fastify', async () => {
  const { port } = await start()
  const answer = await send(port, { headers: { cookie: 'session=program', 'x-address': '10.0.0.7' } })
  expect(answer.body).toBe('{"a":1}')
})

test('Fastify serves a request with two hosts, and every request during a shutdown', async () => {
  const { port, shuttingDown } = await start()
  const socket = connect(port, '127.0.0.1')
  socket.end(
    'POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncookie: session=good\r\n' +
      'content-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
  )
  expect(await text(socket)).toMatch(/fastify$/)
  shuttingDown.abort()
  expect((await send(port)).body).toBe('fastify')
})

test('an error has the shape of the route and is measured', async () => {
  const { port, measureRequest } = await start(() => {
    throw new Error('broken')
  })
  const answer = await send(port)
  expect(answer).toMatchObject({ status: 500, headers: { 'x-error': 'yes', 'x-own': 'yes' } })
  expect(JSON.parse(answer.body)).toEqual({ error: 'broken' })
  await vi.waitFor(() => expect(measureRequest).toHaveBeenCalledOnce())
  expect(measureRequest.mock.calls[0]![0]).toMatchObject({ method: 'POST', route: '/echo', status: 500 })
  expect((await send(port, { body: 'x'.repeat(101) })).status).toBe(413)
})
