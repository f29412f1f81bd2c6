import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { streamHead, toChunk, composeResponse } from '../support/misbehaving-engine.ts'
import { openRawSocket, path, startGateway } from './gateway.ts'
import type { Gateway } from './gateway.ts'

const patience = { timeout: 20_000 }
const megabyte = 1024 * 1024

let gateway: Gateway
let engine: Gateway['engine']
let client: Gateway['client']
let id: string
beforeAll(async () => {
  gateway = await startGateway({})
  ;({ engine, client, id } = gateway)
})
afterAll(() => gateway.close())

const drained = () => gateway.drained()

const openSocket = () => openRawSocket(gateway.server.url)

function head(lines: string[]): string {
  const own = [`POST ${path} HTTP/1.1`, `cookie: ${client.cookie()}`, 'content-type: application/json']
  return [...own, ...lines, '', ''].join('\r\n')
}

const host = 'host: localhost'
const body = () => JSON.stringify({ model: id })
const chunked = 'transfer-encoding: chunked'
const hidden = 'POST /v1/user/logout HTTP/1.1\r\nhost: localhost\r\n\r\n'

test.each<[string, () => string]>([
  [
    'content-length and transfer-encoding',
    () => head([host, chunked, `content-length: ${body().length}`]) + toChunk(body()) + `0\r\n\r\n${hidden}`,
  ],
  [
    'content-length and transfer-encoding, in the other order',
    () => head([host, `content-length: 4`, chunked]) + `0\r\n\r\n${hidden}`,
  ],
  [
    'two content-length headers',
    () => head([host, `content-length: ${body().length}`, 'content-length: 0']) + body() + hidden,
  ],
  ['a list as content-length', () => head([host, `content-length: ${body().length}, 0`]) + body()],
  ['a signed content-length', () => head([host, `content-length: +${body().length}`]) + body()],
  [
    'an unknown transfer-encoding',
    () => head([host, 'transfer-encoding: xchunked']) + toChunk(body()) + '0\r\n\r\n',
  ],
  [
    'a transfer coding after chunked',
    () => head([host, 'transfer-encoding: chunked, identity']) + toChunk(body()) + '0\r\n\r\n',
  ],
  ['a signed chunk size', () => `${head([host, chunked])}+2\r\n{}\r\n0\r\n\r\n`],
  ['a chunk size with a prefix', () => `${head([host, chunked])}0x2\r\n{}\r\n0\r\n\r\n`],
  ['a chunk that is longer than its size', () => `${head([host, chunked])}1\r\n{}\r\n0\r\n\r\n`],
  ['chunks that end in bare line feeds', () => `${head([host, chunked])}2\n{}\n0\n\n`],
  [
    'headers that end in bare line feeds',
    () => head([host, `content-length: 2`]).replaceAll('\r\n', '\n') + '{}',
  ],
  ['a space before a colon', () => `${head([host, `content-length : ${body().length}`])}${body()}`],
  ['a folded header', () => head([host, 'x-a: 1\r\n  content-length: 0'])],
  [
    'two host headers',
    () => `${head([host, 'host: elsewhere', `content-length: ${body().length}`])}${body()}`,
  ],
  ['no host header', () => `${head([`content-length: ${body().length}`])}${body()}`],
])('a request with %s is a 400, closes the connection and reaches no engine', async (_what, write) => {
  const before = engine.requests.length
  const socket = await openSocket()
  socket.write(write())
  await vi.waitFor(() => expect(socket.closed).toBe(true), patience)
  expect(socket.text()).toMatch(/^HTTP\/1\.1 400 /)
  expect(socket.text().match(/HTTP\/1\.1 \d/g)).toHaveLength(1)
  expect(engine.requests.length).toBe(before)
  expect((await client.get('/v1/auth/session')).status).toBe(200)
})

test('the engine receives only the body: no cookie, no credentials, no hop-by-hop headers', async () => {
  engine.answer((socket) => socket.write(composeResponse('{}')))
  const socket = await openSocket()
  const unusual = [
    'authorization: Bearer sk-mine',
    'proxy-authorization: Basic x',
    'te: trailers',
    'x-secret: s',
    'connection: keep-alive, x-secret',
    'keep-alive: timeout=9',
    'upgrade: websocket',
    'x-forwarded-for: 1.2.3.4',
    'content-encoding: identity',
    'trailer: x-t',
  ]
  socket.write(head([host, ...unusual, chunked]) + toChunk(body(), ';x=y') + '0\r\nx-t: 1\r\n\r\n')
  await vi.waitFor(() => expect(socket.text()).toMatch(/^HTTP\/1\.1 200 .*\{\}$/s), patience)
  socket.destroy()
  const { headers, body: received } = engine.last()
  expect(received).toBe(JSON.stringify({ model: 'berth-tiny' }))
  expect(Object.keys(headers).toSorted()).toEqual([
    'accept',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'x-request-id',
  ])
  expect(headers['connection']).toBe('keep-alive')
  expect(headers['authorization']).not.toContain('sk-mine')
})

test('the gateway answers Expect: 100-continue and does not forward it', async () => {
  const socket = await openSocket()
  socket.write(head([host, 'expect: 100-continue', `content-length: ${body().length}`]))
  await vi.waitFor(() => expect(socket.text()).toContain('HTTP/1.1 100 Continue'), patience)
  socket.write(body())
  await vi.waitFor(() => expect(socket.text()).toContain('HTTP/1.1 200 OK'), patience)
  socket.destroy()
  expect(engine.last().headers).not.toHaveProperty('expect')
})

test('a prompt of 10 MB reaches the engine byte for byte', async () => {
  engine.answer((socket, request) =>
    socket.write(composeResponse(JSON.stringify({ length: request.body.length }))),
  )
  const content = 'é"\\\n'.repeat(2_500_000 / 2)
  const answer = await client.post(path, { model: id, messages: [{ role: 'user', content }], last: 1 })
  expect(answer.status).toBe(200)
  expect(JSON.parse(engine.last().body)).toEqual({
    model: 'berth-tiny',
    messages: [{ role: 'user', content }],
    last: 1,
  })
})

test('a request that the caller breaks off reaches no engine', async () => {
  const before = engine.requests.length
  const socket = await openSocket()
  socket.write(head([host, `content-length: ${body().length}`]) + body().slice(0, 9))
  await vi.waitFor(() => expect(socket.bytesWritten).toBeGreaterThan(0), patience)
  socket.destroy()
  await once(socket, 'close')
  expect((await client.post(path, { model: id })).status).toBe(200)
  expect(engine.requests.length).toBe(before + 1)
})

test.each(['before the first byte', 'within the response', 'within a stream'])(
  'when the caller disconnects %s, the engine’s request is aborted within a second',
  async (when) => {
    engine.answer((socket) => {
      if (when === 'within the response') socket.write(composeResponse('x'.repeat(megabyte)).slice(0, -9))
      if (when === 'within a stream') socket.write(streamHead + toChunk('data: {}\n\n'))
    })
    const before = engine.requests.length
    const socket = await openSocket()
    socket.write(head([host, `content-length: ${body().length}`]) + body())
    await vi.waitFor(() => expect(engine.requests.length).toBe(before + 1), patience)
    if (when !== 'before the first byte') {
      await vi.waitFor(() => expect(socket.text()).toContain('\r\n\r\n'), patience)
    }
    socket.destroy()
    const { [before]: request } = engine.requests
    await vi.waitFor(() => expect(request!.ended).toBe(true), { timeout: 1_000, interval: 10 })
    await drained()
  },
)

test('when the second of two pipelined streams breaks off, the connection closes after the first stream has ended', async () => {
  const streams: Socket[] = []
  engine.answer((socket) => {
    streams.push(socket)
    socket.write(streamHead + toChunk(`data: ${streams.length}\n\n`))
  })
  const socket = await openSocket()
  const request = () => head([host, `content-length: ${body().length}`]) + body()
  socket.write(request() + request())
  await vi.waitFor(() => expect(streams).toHaveLength(2), patience)
  streams[1]!.resetAndDestroy()
  await vi.waitFor(() => expect(gateway.server.application.inference.inFlight.get(id)).toBe(1), patience)
  streams[0]!.end(toChunk('data: [DONE]\n\n') + '0\r\n\r\n')
  await vi.waitFor(() => expect(socket.closed).toBe(true), patience)
  expect(socket.text()).toMatch(/data: 1\n\n.*data: \[DONE\]\n\n\r\n0\r\n\r\n/s)
  await drained()
})

test('no sockets, timers or memory leak', async () => {
  await gateway.expectUnchanged()
})
