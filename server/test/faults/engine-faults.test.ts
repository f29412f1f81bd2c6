import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lastChunk, streamHead, toChunk, wholeAnswer } from '../support/misbehaving-engine.ts'
import { path, startGateway } from './gateway.ts'
import type { Gateway } from './gateway.ts'

const chunk = 'data: {"choices":[{"delta":{"content":"é…"}}]}\n\n'
const usageChunk = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
/** Longer than what is held of an answer */
const long = 'x'.repeat(2 ** 20)
const settings = {
  INFERENCE_CONNECT_TIMEOUT_MS: '500',
  INFERENCE_FIRST_BYTE_TIMEOUT_MS: '700',
  INFERENCE_IDLE_TIMEOUT_MS: '700',
}

let gateway: Gateway
let engine: Gateway['engine']
let client: Gateway['client']
let id: string
beforeAll(async () => {
  gateway = await startGateway(settings)
  ;({ engine, client, id } = gateway)
})
afterAll(() => gateway.close())

const drained = () => gateway.drained()

interface Outcome {
  status: number
  type: string | null
  text: string
  /** True when the answer ended before its end */
  broken: boolean
}

async function ask(body: object = {}): Promise<Outcome> {
  const response = await fetch(gateway.server.url + path, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json' },
    body: JSON.stringify({ model: id, ...body }),
  })
  const pieces: Uint8Array[] = []
  let broken = false
  try {
    for await (const piece of response.body ?? []) pieces.push(piece)
  } catch {
    broken = true
  }
  const text = Buffer.concat(pieces).toString()
  return { status: response.status, type: response.headers.get('content-type'), text, broken }
}

async function metered(): Promise<number[]> {
  await gateway.server.application.tokens.flush()
  const { body } = await client.get(`/api/v1/model-deployments/${id}/usage`)
  return [body.requests, body.input_tokens, body.output_tokens]
}

function expectError({ status, text }: Outcome, expected: number, code: string): void {
  expect([status, JSON.parse(text).error.code]).toEqual([expected, code])
}

const unavailable: [number, string] = [502, 'upstream_unavailable']
const silent: [number, string] = [504, 'upstream_timeout']

test.each<[string, (socket: Socket) => void, [number, string]]>([
  ['resets before a byte', (socket) => socket.resetAndDestroy(), unavailable],
  [
    'resets within its head',
    (socket) => socket.write('HTTP/1.1 200', () => socket.resetAndDestroy()),
    unavailable,
  ],
  ['ends within its head', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'), unavailable],
  [
    'resets within its body',
    (socket) => socket.write(wholeAnswer('{"a":1}').slice(0, -3), () => socket.resetAndDestroy()),
    unavailable,
  ],
  [
    'ends before the length that it announced',
    (socket) => socket.end(wholeAnswer('{"a":1}').slice(0, -3)),
    unavailable,
  ],
  [
    'ends before its last chunk',
    (socket) => socket.end(streamHead.replace('event-stream', 'x') + toChunk('{}')),
    unavailable,
  ],
  ['hangs before a byte', () => {}, silent],
  ['hangs within its head', (socket) => socket.write('HTTP/1.1 200 OK\r\n'), silent],
  ['hangs within its body', (socket) => socket.write(wholeAnswer('{"a":1}').slice(0, -3)), silent],
  ['sends garbage', (socket) => socket.write('\0\x01SSH-2.0-berth\r\n\r\n'), unavailable],
  ['speaks another version', (socket) => socket.write('HTTP/3.0 200 OK\r\n\r\n'), unavailable],
  [
    'sends bare line feeds',
    (socket) => socket.write('HTTP/1.1 200 OK\ncontent-length: 2\n\n{}'),
    unavailable,
  ],
  [
    'announces its length in two ways',
    (socket) => socket.write(wholeAnswer('{}', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked')),
    unavailable,
  ],
  [
    'announces two lengths',
    (socket) => socket.write(wholeAnswer('{}', 'HTTP/1.1 200 OK\r\ncontent-length: 7')),
    unavailable,
  ],
  [
    'has a chunk size that is none',
    (socket) => socket.write(streamHead.replace('event-stream', 'x') + 'zz\r\n'),
    unavailable,
  ],
  [
    'switches protocols',
    (socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    unavailable,
  ],
])('an engine that %s', async (_what, script, [status, code]) => {
  engine.answer(script)
  expectError(await ask(), status, code)
  await drained()
})

/** Writes pieces a while apart until the connection has ended. */
function drip(socket: Socket, pieces: Iterable<string>): void {
  const iterator = pieces[Symbol.iterator]()
  const timer = setInterval(() => {
    const { value, done } = iterator.next()
    if (done || socket.destroyed) clearInterval(timer)
    else socket.write(value)
  }, 100)
}

test('an engine whose head has no end is cut off', async () => {
  engine.answer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    for (let count = 0; count < 64; count += 1) socket.write(`x-${count}: ${'x'.repeat(4000)}\r\n`)
  })
  expectError(await ask(), ...unavailable)
  await drained()
})

test('an engine that drips its head is silent until the head is whole', async () => {
  engine.answer((socket) => drip(socket, wholeAnswer('{}')))
  expectError(await ask(), ...silent)
  await drained()
})

test('an engine that drips its answer is heard to the end', async () => {
  const body = '{"choices":[]}'
  engine.answer((socket) => {
    socket.write(wholeAnswer(body).slice(0, -body.length))
    drip(socket, body)
  })
  expect(await ask()).toMatchObject({ status: 200, text: body, broken: false })
})

test.each(['resets', 'ends', 'stalls', 'sends a bad chunk'])(
  'an engine that %s in mid-stream: what had come reaches the caller, then his stream breaks off; it is metered',
  async (how) => {
    const [requests = 0, input, output = 0] = await metered()
    engine.answer((socket) => {
      socket.write(streamHead + toChunk(chunk) + toChunk(chunk), () => {
        if (how === 'resets') setImmediate(() => socket.resetAndDestroy())
        if (how === 'ends') socket.end()
        if (how === 'sends a bad chunk') socket.write('zz\r\n')
      })
    })
    const outcome = await ask({ stream: true })
    expect(outcome).toMatchObject({ status: 200, broken: true })
    expect(how === 'resets' ? chunk + chunk : outcome.text).toBe(chunk + chunk)
    await drained()
    expect(await metered()).toEqual([requests + 1, input, output + 2])
  },
)

test('an engine that sends more than its length: the answer is what it announced, the rest meets no request', async () => {
  engine.answer((socket) => socket.write(`${wholeAnswer('{"first":1}')}{"more":1}`))
  for (const _ of [1, 2]) expect((await ask()).text).toBe('{"first":1}')
})

test('an engine that answers twice: the second answer reaches nobody', async () => {
  engine.answer((socket) => socket.write(wholeAnswer('{"first":1}') + wholeAnswer('{"second":1}')))
  for (const _ of [1, 2, 3]) expect((await ask()).text).toBe('{"first":1}')
})

test('an engine that speaks on a kept connection before it is asked again is not heard', async () => {
  engine.answer((socket) => {
    socket.write(wholeAnswer('{"first":1}'))
    setTimeout(() => socket.write(wholeAnswer('{"unasked":1}')), 20)
  })
  expect((await ask()).text).toBe('{"first":1}')
  await drained()
  expect((await ask()).text).toBe('{"first":1}')
  await drained()
})

test('a kept connection that the engine closed: the request goes out again on a new one, once', async () => {
  let served = 0
  engine.answer((socket) => {
    served += 1
    if (served === 2) socket.destroy()
    else socket.write(wholeAnswer(`{"served":${served}}`))
  })
  expect((await ask()).text).toBe('{"served":1}')
  expect((await ask()).text).toBe('{"served":3}')
  engine.answer((socket) => socket.destroy())
  const before = engine.requests.length
  expectError(await ask(), ...unavailable)
  expect(engine.requests.length).toBe(before + 2)
})

test('informational answers before the answer, and chunk extensions, are no part of it', async () => {
  engine.answer((socket) =>
    socket.write(
      `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${streamHead}${toChunk(chunk, ';a=b;c="d"')}${lastChunk}`,
    ),
  )
  expect(await ask({ stream: true })).toMatchObject({ status: 200, text: chunk, broken: false })
})

test('a 5xx in HTML is passed on as it is', async () => {
  const head = 'HTTP/1.1 503 Busy\r\ncontent-type: text/html\r\nset-cookie: a=b\r\nconnection: close'
  engine.answer((socket) => socket.end(wholeAnswer('<h1>Busy</h1>', head)))
  expect(await ask()).toEqual({ status: 503, type: 'text/html', text: '<h1>Busy</h1>', broken: false })
})

test('an error within a stream of status 200, comments and both line ends pass as they are', async () => {
  const events = `: hi\r\n\r\n${chunk}data: {"error":{"message":"out of memory"}}\r\n\r\ndata: [DONE]\n\n`
  engine.answer((socket) => socket.end(streamHead + toChunk(events) + lastChunk))
  expect(await ask({ stream: true })).toMatchObject({ status: 200, text: events, broken: false })
})

test('an event without an end breaks the stream off before it fills the memory', async () => {
  engine.answer((socket) => {
    socket.write(streamHead)
    for (let sent = 0; sent < 16; sent += 1) socket.write(toChunk('x'.repeat(1024 * 1024)))
  })
  expect(await ask({ stream: true })).toMatchObject({ text: '', broken: true })
  await drained()
})

test.each([
  ['is missing', '{"choices":[]}', [0, 0, 0]],
  ['is absurd', '{"usage":{"prompt_tokens":-5,"completion_tokens":1e30}}', [0, 0, 0]],
  ['is there', '{"usage":{"prompt_tokens":5,"completion_tokens":7}}', [1, 5, 7]],
  [
    'is there twice',
    '{"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":2,"completion_tokens":3}}',
    [1, 2, 3],
  ],
  ['ends a long answer', `{"data":"${long}","usage":{"prompt_tokens":5}}`, [1, 5, 0]],
  ['begins a long answer', `{"usage":{"prompt_tokens":5},"data":"${long}"}`, [1, 5, 0]],
])('a whole answer whose usage %s', async (_how, body, added) => {
  const before = await metered()
  engine.answer((socket) => socket.write(wholeAnswer(body)))
  expect((await ask()).text).toBe(body)
  expect(await metered()).toEqual(before.map((count, index) => count + added[index]!))
})

test.each([
  ['is missing', chunk + chunk, chunk + chunk, [1, 0, 2]],
  ['comes twice', usageChunk + chunk + usageChunk, chunk, [1, 1, 2]],
  ['is absurd', chunk + usageChunk.replace('1', '-1'), chunk, [1, 0, 1]],
])('a stream whose usage %s', async (_how, sent, seen, added) => {
  const before = await metered()
  engine.answer((socket) => socket.write(streamHead + toChunk(sent) + lastChunk))
  expect((await ask({ stream: true })).text).toBe(seen)
  expect(await metered()).toEqual(before.map((count, index) => count + added[index]!))
})

test('after all of it the process holds nothing that it did not hold before', async () => {
  await gateway.expectUnchanged()
})
