import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { createWriteBatch } from '../write-batch.ts'
import { createUpstreamClient } from './client.ts'
import type { ResponseHead, UpstreamClient, UpstreamRequest } from './upstream.ts'
import type { UpstreamError } from './upstream-error.ts'

const timeouts = { connect: 1_000, firstByte: 400, idle: 400 }
const ok = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`

let server: Server | null = null
const accepted = new Set<Socket>()
let client: UpstreamClient = createUpstreamClient(timeouts, createWriteBatch())
afterEach(async () => {
  await client.close()
  for (const socket of accepted) socket.destroy()
  accepted.clear()
  const closing = server
  if (closing !== null) await new Promise((resolve) => closing.close(resolve))
  server = null
})

/** Starts an upstream whose connections the test handles, and creates a client for it. */
async function listen(
  handle: (socket: Socket) => void,
  clientTimeouts = timeouts,
  allowHalfOpen = false,
): Promise<string> {
  const listening = createServer({ noDelay: true, allowHalfOpen }, (socket) => {
    accepted.add(socket)
    socket.on('error', () => {})
    handle(socket)
  })
  server = listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  client = createUpstreamClient(clientTimeouts, createWriteBatch())
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

const request = (changes: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  path: '/v1/embeddings',
  streams: false,
  requestId: 'r-1',
  authorization: null,
  traceparent: null,
  body: '{}',
  ...changes,
})

interface Received {
  head: ResponseHead | null
  body: string
  error: UpstreamError | null
}

/** Sends a request. `response` resolves when the response has ended or failed. */
function send(origin: string, changes: Partial<UpstreamRequest> = {}) {
  const { promise, resolve } = Promise.withResolvers<Received>()
  const received: Received = { head: null, body: '', error: null }
  const call = client.send(origin, request(changes), {
    onHead(head) {
      received.head = head
      return null
    },
    onBody(bytes) {
      received.body += bytes.toString('latin1')
    },
    onEnd: () => resolve(received),
    onError(error) {
      received.error = error
      resolve(received)
    },
  })
  return { call, response: promise, received }
}

/** Responds to each request, which must arrive in one read. */
const respondWith = (text: () => string) => (socket: Socket) =>
  void socket.on('data', () => socket.write(text()))

test('a request has exactly one head with the required headers and one body', async () => {
  let received = ''
  const origin = await listen((socket) =>
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1')
      socket.write(ok('{}'))
    }),
  )
  await send(origin, { authorization: 'Bearer k', traceparent: '00-1', streams: true, body: '{"é":1}' })
    .response
  expect(received).toBe(
    'POST /v1/embeddings HTTP/1.1\r\n' +
      `host: ${origin.slice('http://'.length)}\r\nconnection: keep-alive\r\ncontent-type: application/json\r\n` +
      'accept: text/event-stream\r\nx-request-id: r-1\r\ncontent-length: 7\r\n' +
      'authorization: Bearer k\r\ntraceparent: 00-1\r\n\r\n{"é":1}',
  )
})

test('the pieces of a body arrive as one body', async () => {
  let received = ''
  const origin = await listen((socket) =>
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1')
      if (received.endsWith('}')) socket.write(ok('{}'))
    }),
  )
  await send(origin, { body: [Buffer.from('{"a":'), Buffer.alloc(100_000, 'x'), Buffer.from('}')] }).response
  expect(received.slice(received.indexOf('\r\n\r\n') + 4)).toBe(`{"a":${'x'.repeat(100_000)}}`)
})

test('an authorization with a line break is not sent', async () => {
  const origin = await listen(respondWith(() => ok('{}')))
  const { error } = await send(origin, { authorization: 'k\r\nx: y' }).response
  expect(error?.kind).toBe('broken')
})

test('sequential requests reuse a connection; concurrent requests use one each', async () => {
  let opened = 0
  const origin = await listen((socket) => {
    opened += 1
    respondWith(() => ok('{}'))(socket)
  })
  for (const _ of [1, 2, 3]) {
    await send(origin).response
    // The connection is idle from the next turn on.
    await new Promise(setImmediate)
  }
  expect(opened).toBe(1)
  await Promise.all([send(origin).response, send(origin).response])
  expect([opened, client.size()]).toEqual([2, 2])
})

test('a keep-alive connection that closes before the next response is stale, one that closes within it is broken', async () => {
  let requests = 0
  const origin = await listen((socket) =>
    socket.on('data', () => {
      requests += 1
      if (requests % 2 === 1) socket.write(ok('{}'))
      else if (requests === 2) socket.destroy()
      else socket.end('HTTP')
    }),
  )
  const kinds = []
  for (const _ of [1, 2, 3, 4]) {
    kinds.push((await send(origin).response).error?.kind)
    await new Promise(setImmediate)
  }
  expect(kinds).toEqual([undefined, 'stale', undefined, 'broken'])
})

test('a closed port is refused, an upstream that sends nothing times out', async () => {
  const gone = await listen(() => {})
  server!.close()
  await once(server!, 'close')
  server = null
  expect((await send(gone).response).error?.kind).toBe('refused')
  const origin = await listen((socket) => void socket.resume())
  expect((await send(origin).response).error?.kind).toBe('timeout')
})

test('what arrives while the process stands still is in time', async () => {
  const origin = await listen(
    respondWith(() => ok('hello')),
    { ...timeouts, connect: 50 },
  )
  const { response } = send(origin)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  expect(await response).toMatchObject({ error: null, body: 'hello' })
})

test('the first-byte timeout applies until the first byte of the body, then the idle timeout applies', async () => {
  const origin = await listen(
    (socket) => {
      socket.on('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
        setTimeout(() => socket.write('1\r\nx\r\n'), 500)
      })
    },
    { connect: 60_000, firstByte: 60_000, idle: 100 },
  )
  const { head, body, error } = await send(origin).response
  expect([head?.status, body, error?.kind]).toEqual([200, 'x', 'timeout'])
})

test('aborting a call closes its connection without calling the handler, before and after the request was written', async () => {
  const sockets: Socket[] = []
  const origin = await listen((socket) => void sockets.push(socket.resume()))
  const early = send(origin)
  early.call.abort()
  expect(client.size()).toBe(0)
  const late = send(origin)
  await vi.waitFor(() => expect(sockets.some((socket) => socket.bytesRead > 0)).toBe(true))
  late.call.abort()
  for (const socket of sockets) await vi.waitFor(() => expect(socket.closed).toBe(true))
  expect([early.received.error, late.received.error, client.size()]).toEqual([null, null, 0])
})

test('an abandoned call reads what the upstream sent before it noticed', async () => {
  const ended: boolean[] = []
  const origin = await listen(
    (socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nfirst'))
      socket.on('end', () => {
        ended.push(true)
        socket.end(' last')
      })
    },
    timeouts,
    true,
  )
  const { call, received } = send(origin)
  await vi.waitFor(() => expect(received.body).toBe('first'))
  let rest = ''
  let ends = 0
  const isLeft = call.leave({
    onHead: () => null,
    onBody: (bytes) => void (rest += bytes.toString()),
    onEnd: () => void (ends += 1),
    onError: () => void (ends += 1),
  })
  expect(isLeft).toBe(true)
  await vi.waitFor(() => expect([rest, ends]).toEqual([' last', 1]))
  expect([ended, received.body, client.size()]).toEqual([[true], 'first', 0])
})

test('an upstream that does not notice that it was left is closed', async () => {
  const sockets: Socket[] = []
  const origin = await listen(
    (socket) => {
      sockets.push(socket)
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nx'))
    },
    timeouts,
    true,
  )
  const { call, received } = send(origin)
  await vi.waitFor(() => expect(received.body).toBe('x'))
  let ends = 0
  const end = () => void (ends += 1)
  call.leave({ onHead: () => null, onBody: () => {}, onEnd: end, onError: end })
  await vi.waitFor(() => expect([ends, client.size()]).toEqual([1, 0]), 10_000)
  expect(received.error).toBeNull()
  for (const socket of sockets) socket.destroy()
})

test('a paused call reads nothing and does not time out', async () => {
  const origin = await listen((socket) => {
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const pump = () => {
        while (socket.bytesWritten < 64 * 1024 * 1024 && socket.write('x'.repeat(64 * 1024)));
        if (socket.bytesWritten >= 64 * 1024 * 1024) socket.end()
      }
      socket.on('drain', pump)
      pump()
    })
  })
  const { call, response, received } = send(origin)
  await vi.waitFor(() => expect(received.body).not.toBe(''))
  call.pause()
  const seen = received.body.length
  const until = performance.now() + 3 * timeouts.idle
  await vi.waitFor(() => expect(performance.now()).toBeGreaterThan(until), { timeout: 10_000 })
  expect([received.error, received.body.length]).toEqual([null, seen])
  call.resume()
  const { body, error } = await response
  expect([error, body.length >= 64 * 1024 * 1024]).toEqual([null, true])
})

test('a response that arrives before the request was fully sent is read, and its connection is not reused', async () => {
  const origin = await listen((socket) => {
    socket.pause()
    socket.write(ok('{"early":1}'))
  })
  const { call, response } = send(origin, { body: [Buffer.alloc(64 * 1024 * 1024)] })
  const { body } = await response
  expect([body, client.size()]).toEqual(['{"early":1}', 0])
  // The socket may still read the body, so its memory must not be reused.
  expect(call.isBodySent).toBe(false)
})

test('a long body is written in parts, each in its own turn of the event loop', async () => {
  const length = 8 * 1024 * 1024
  let bytes = 0
  const origin = await listen((socket) => {
    socket.on('data', (data) => {
      bytes += data.length
      if (bytes > length && data.at(-1) === 0x22) socket.write(ok('{}'))
    })
  })
  let turns = 0
  const count = () => {
    turns += 1
    turn = setImmediate(count)
  }
  let turn = setImmediate(count)
  const pieces = [Buffer.from('"'), Buffer.alloc(length - 2, 'x'), Buffer.from('"')]
  const { call, response } = send(origin, { body: pieces })
  expect(call.isBodySent).toBe(false)
  await response
  clearImmediate(turn)
  expect(turns).toBeGreaterThanOrEqual(length / (256 * 1024))
  await expect.poll(() => call.isBodySent).toBe(true)
})
