import { deploy } from '../support/deployments.ts'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { composeResponse, streamHead, toChunk } from '../support/misbehaving-engine.ts'
import { openRawSocket, path, startGateway } from './gateway.ts'
import type { Gateway } from './gateway.ts'

const patience = { timeout: 20_000 }
const megabyte = 1024 * 1024
const rate = 20_000
const timeout = 1_000

let gateway: Gateway
let engine: Gateway['engine']
let client: Gateway['client']
let id: string
beforeAll(async () => {
  gateway = await startGateway({ minimumRate: { bytesPerSecond: rate, timeoutMilliseconds: timeout } })
  ;({ engine, client, id } = gateway)
})
afterAll(() => gateway.close())

const connectToServer = () => openRawSocket(gateway.server.url)

function head(url: string, length: number, fields: string[] = []): string {
  const own = [`POST ${url} HTTP/1.1`, 'host: localhost', `cookie: ${client.cookie()}`]
  return [...own, 'content-type: application/json', `content-length: ${length}`, ...fields, '', ''].join(
    '\r\n',
  )
}

/** Writes the text in pieces every 50 ms until it is sent or the connection closes. */
async function writePaced(socket: Socket, text: string, pieceBytes: number): Promise<void> {
  for (let sent = 0; sent < text.length && !socket.closed; sent += pieceBytes) {
    socket.write(text.slice(sent, sent + pieceBytes))
    await delay(50)
  }
}

const dialects: Record<string, RegExp> = {
  '/v1/chat/completions':
    /\{"error":\{"message":"The request body arrived too slowly\.".*"code":"request_timeout"\}\}$/,
  '/v1/user/signin': /application\/json.*"status":408.*"code":"request_timeout"/s,
  '/api/v1/model-deployments': /application\/json.*"status":408.*"code":"request_timeout"/s,
  '/v1/billing/webhook': /application\/json.*"status":408.*"code":"request_timeout"/s,
}
test.each(Object.keys(dialects))(
  'a body of %s below the minimum rate is a 408 and closes the connection',
  async (url) => {
    const before = engine.requests.length
    const socket = await connectToServer()
    const startedAt = performance.now()
    const text = JSON.stringify({ model: id, email: 'a'.repeat(1_000) })
    socket.write(head(url, text.length))
    await writePaced(socket, text, 2)
    await vi.waitFor(() => expect(socket.closed).toBe(true), patience)
    expect(performance.now() - startedAt).toBeLessThan(timeout * 5)
    expect(socket.text()).toMatch(/^HTTP\/1\.1 408 /)
    expect(socket.text()).toMatch(dialects[url]!)
    expect(engine.requests.length).toBe(before)
  },
)

test('a caller that stops in the middle of a body gives up its connection', async () => {
  const sockets = await Promise.all(Array.from({ length: 50 }, connectToServer))
  for (const socket of sockets) socket.write(`${head(path, 100)}{"model":`)
  await vi.waitFor(() => expect(sockets.every(({ closed }) => closed)).toBe(true), patience)
})

test('a caller that never finishes its headers gives up its connection', async () => {
  const socket = await connectToServer()
  socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\nx-slow: `)
  await vi.waitFor(() => expect(socket.closed).toBe(true), patience)
  expect(socket.text()).toMatch(/^HTTP\/1\.1 408 /)
})

test('a long body above the minimum rate reaches the engine', async () => {
  engine.answer((socket) => socket.write(composeResponse('{}')))
  const socket = await connectToServer()
  const text = JSON.stringify({ model: id, padding: 'x'.repeat(rate * 4) })
  socket.write(head(path, text.length))
  await writePaced(socket, text, rate / 10)
  await vi.waitFor(() => expect(socket.text()).toMatch(/^HTTP\/1\.1 200 /), patience)
  socket.destroy()
})

test.each(['text/event-stream', 'application/json'])(
  'a caller that reads %s below the minimum rate pauses the engine and is disconnected',
  async (type) => {
    const event = toChunk(`data: ${'x'.repeat(64 * 1024)}\n\n`)
    let sent = 0
    engine.answer((socket) => {
      socket.write(streamHead.replace('text/event-stream', type))
      const pump = () => {
        while (sent < 512 * megabyte && socket.write(event)) sent += event.length
      }
      socket.on('drain', pump)
      pump()
    })
    const socket = connect({
      port: Number(new URL(gateway.server.url).port),
      host: '127.0.0.1',
      // The caller takes one byte of each piece that arrives, and the next piece 100 ms later.
      onread: {
        buffer: Buffer.alloc(64),
        callback: () => {
          setTimeout(() => socket.resume(), 100)
          return false
        },
      },
    })
    socket.on('error', () => {})
    socket.write(head(path, JSON.stringify({ model: id }).length) + JSON.stringify({ model: id }))
    await vi.waitFor(() => expect(sent).toBeGreaterThan(0), patience)
    await vi.waitFor(() => expect(engine.last().ended).toBe(true), patience)
    // Most of it is in the kernel’s socket buffers; the gateway buffers a few hundred KB.
    expect(sent).toBeLessThan(32 * megabyte)
    socket.destroy()
    await gateway.drained()
  },
)

test('a large response reaches a caller that reads slowly but above the minimum rate', async () => {
  const length = 24 * megabyte
  const embedding = Array.from({ length: 1024 }, () => 0)
  const data = Array.from({ length: length / 4 / 1024 }, (_, index) => ({
    object: 'embedding',
    index,
    embedding,
  }))
  engine.answer((socket) => socket.write(composeResponse(JSON.stringify({ object: 'list', data }))))
  const { id: model } = await deploy(gateway.client, 'berth-tiny-embedding')
  const text = JSON.stringify({ model, input: data.map(() => 'x'), encoding_format: 'base64' })
  const socket = connect(Number(new URL(gateway.server.url).port), '127.0.0.1')
  socket.write(head('/v1/embeddings', text.length, ['connection: close']) + text)
  const startedAt = performance.now()
  let received = 0
  let allowance = megabyte
  socket.on('data', (bytes) => {
    received += bytes.length
    if (received < allowance) return
    allowance += megabyte
    socket.pause()
    setTimeout(() => socket.resume(), 100)
  })
  await vi.waitFor(() => expect(socket.closed).toBe(true), patience)
  expect(received).toBeGreaterThan(length)
  expect(performance.now() - startedAt).toBeGreaterThan(timeout * 2)
})

test('a stream whose engine is slow is not cut', async () => {
  engine.answer(async (socket) => {
    socket.write(streamHead)
    for (const word of ['one', 'two', 'three', 'four']) {
      await delay(timeout)
      socket.write(toChunk(`data: ${word}\n\n`))
    }
    socket.write(toChunk('data: [DONE]\n\n') + '0\r\n\r\n')
  })
  const socket = await connectToServer()
  const text = JSON.stringify({ model: id, stream: true })
  socket.write(head(path, text.length) + text)
  await vi.waitFor(() => expect(socket.text()).toContain('[DONE]'), patience)
  expect(socket.text()).toContain('four')
  socket.destroy()
})

test('no sockets, timers or memory leak', async () => {
  await gateway.expectUnchanged()
})
