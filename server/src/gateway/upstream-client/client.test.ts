import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { createTurn } from '../turn.ts'
import type { AnswerHead, EngineClient, EngineFailure, EngineRequest } from './client.ts'
import { openNativeClient } from './native-client.ts'

const timeouts = { connect: 1_000, firstByte: 400, idle: 400 }
const ok = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`

let server: Server | null = null
const accepted = new Set<Socket>()
let client: EngineClient = openNativeClient(timeouts, createTurn())
afterEach(async () => {
  await client.close()
  for (const socket of accepted) socket.destroy()
  accepted.clear()
  const closing = server
  if (closing !== null) await new Promise((resolve) => closing.close(resolve))
  server = null
})

/** An engine whose connections are handled by a test, and a client of its own for it. */
async function listen(handle: (socket: Socket) => void, allowed = timeouts): Promise<string> {
  const listening = createServer({ noDelay: true }, (socket) => {
    accepted.add(socket)
    socket.on('error', () => {})
    handle(socket)
  })
  server = listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  client = openNativeClient(allowed, createTurn())
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

const request = (changes: Partial<EngineRequest> = {}): EngineRequest => ({
  path: '/v1/embeddings',
  streams: false,
  requestId: 'r-1',
  authorization: null,
  traceparent: null,
  body: '{}',
  ...changes,
})

interface Heard {
  head: AnswerHead | null
  body: string
  failure: EngineFailure | null
}

/** Sends a request; resolves when its answer has ended or failed. */
function send(origin: string, changes: Partial<EngineRequest> = {}) {
  const { promise, resolve } = Promise.withResolvers<Heard>()
  const heard: Heard = { head: null, body: '', failure: null }
  const call = client.send(origin, request(changes), {
    onHead(head) {
      heard.head = head
      return null
    },
    onBody(bytes) {
      heard.body += bytes.toString('latin1')
    },
    onEnd: () => resolve(heard),
    onFailure(failure) {
      heard.failure = failure
      resolve(heard)
    },
  })
  return { call, answer: promise, heard }
}

/** Answers each request that comes in one read. */
const answering = (text: () => string) => (socket: Socket) =>
  void socket.on('data', () => socket.write(text()))

test('a request is one head and one body: nothing more than an engine needs', async () => {
  let received = ''
  const origin = await listen((socket) =>
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1')
      socket.write(ok('{}'))
    }),
  )
  await send(origin, { authorization: 'Bearer k', traceparent: '00-1', streams: true, body: '{"é":1}' })
    .answer
  expect(received).toBe(
    'POST /v1/embeddings HTTP/1.1\r\n' +
      `host: ${origin.slice('http://'.length)}\r\nconnection: keep-alive\r\ncontent-type: application/json\r\n` +
      'accept: text/event-stream\r\nx-request-id: r-1\r\ncontent-length: 7\r\n' +
      'authorization: Bearer k\r\ntraceparent: 00-1\r\n\r\n{"é":1}',
  )
})

test('the pieces of a body arrive as one', async () => {
  let received = ''
  const origin = await listen((socket) =>
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1')
      if (received.endsWith('}')) socket.write(ok('{}'))
    }),
  )
  await send(origin, { body: [Buffer.from('{"a":'), Buffer.alloc(100_000, 'x'), Buffer.from('}')] }).answer
  expect(received.slice(received.indexOf('\r\n\r\n') + 4)).toBe(`{"a":${'x'.repeat(100_000)}}`)
})

test('authorization that would end its line is not sent', async () => {
  const origin = await listen(answering(() => ok('{}')))
  const { failure } = await send(origin, { authorization: 'k\r\nx: y' }).answer
  expect(failure?.kind).toBe('broken')
})

test('a connection carries one request after the other; two at once take two', async () => {
  let opened = 0
  const origin = await listen((socket) => {
    opened += 1
    answering(() => ok('{}'))(socket)
  })
  for (const _ of [1, 2, 3]) {
    await send(origin).answer
    // An answer's connection is free from the next turn on.
    await new Promise(setImmediate)
  }
  expect(opened).toBe(1)
  await Promise.all([send(origin).answer, send(origin).answer])
  expect([opened, client.size()]).toEqual([2, 2])
})

test('a kept connection that ends before a byte of its next answer is stale, one that ends later is broken', async () => {
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
    kinds.push((await send(origin).answer).failure?.kind)
    await new Promise(setImmediate)
  }
  expect(kinds).toEqual([undefined, 'stale', undefined, 'broken'])
})

test('a connection that nobody accepts is refused, an engine that says nothing is silent', async () => {
  const gone = await listen(() => {})
  server!.close()
  await once(server!, 'close')
  server = null
  expect((await send(gone).answer).failure?.kind).toBe('refused')
  const origin = await listen((socket) => void socket.resume())
  expect((await send(origin).answer).failure?.kind).toBe('silent')
})

test('an engine may be silent behind its head as before it, and behind a byte of its body for less', async () => {
  const origin = await listen(
    (socket) => {
      socket.on('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
        setTimeout(() => socket.write('1\r\nx\r\n'), 500)
      })
    },
    { connect: 60_000, firstByte: 60_000, idle: 100 },
  )
  const { head, body, failure } = await send(origin).answer
  expect([head?.status, body, failure?.kind]).toEqual([200, 'x', 'silent'])
})

test('a call that is aborted ends its connection and tells nobody, before it was written and after', async () => {
  const sockets: Socket[] = []
  const origin = await listen((socket) => void sockets.push(socket.resume()))
  const early = send(origin)
  early.call.abort()
  expect(client.size()).toBe(0)
  const late = send(origin)
  await vi.waitFor(() => expect(sockets.some((socket) => socket.bytesRead > 0)).toBe(true))
  late.call.abort()
  for (const socket of sockets) await vi.waitFor(() => expect(socket.closed).toBe(true))
  expect([early.heard.failure, late.heard.failure, client.size()]).toEqual([null, null, 0])
})

test('a paused call reads no more, and is not thought silent meanwhile', async () => {
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
  const { call, answer, heard } = send(origin)
  await vi.waitFor(() => expect(heard.body).not.toBe(''))
  call.pause()
  const seen = heard.body.length
  const until = performance.now() + 3 * timeouts.idle
  await vi.waitFor(() => expect(performance.now()).toBeGreaterThan(until), { timeout: 10_000 })
  expect([heard.failure, heard.body.length]).toEqual([null, seen])
  call.resume()
  const { body, failure } = await answer
  expect([failure, body.length >= 64 * 1024 * 1024]).toEqual([null, true])
})

test('an answer before the request was taken whole is heard, and its connection not used again', async () => {
  const origin = await listen((socket) => {
    socket.pause()
    socket.write(ok('{"early":1}'))
  })
  const { body } = await send(origin, { body: [Buffer.alloc(64 * 1024 * 1024)] }).answer
  expect([body, client.size()]).toEqual(['{"early":1}', 0])
})
