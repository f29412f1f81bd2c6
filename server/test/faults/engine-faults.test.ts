import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lastChunk, streamHead, toChunk, composeResponse } from '../support/misbehaving-engine.ts'
import { path, startGateway } from './gateway.ts'
import type { Gateway } from './gateway.ts'

const chunk = 'data: {"choices":[{"delta":{"content":"é…"}}]}\n\n'
const endChunk = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
const usageChunk = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
/** Longer than the buffer of a response */
const long = 'x'.repeat(2 ** 20)

let gateway: Gateway
let engine: Gateway['engine']
let client: Gateway['client']
let id: string
beforeAll(async () => {
  gateway = await startGateway({ inference: { timeouts: { connect: 500, firstByte: 700, idle: 700 } } })
  ;({ engine, client, id } = gateway)
})
afterAll(() => gateway.close())

const drained = () => gateway.drained()

interface Outcome {
  status: number
  type: string | null
  text: string
  /** The connection closed before the end of the response */
  truncated: boolean
}

async function ask(body: object = {}): Promise<Outcome> {
  const response = await fetch(gateway.server.url + path, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json' },
    body: JSON.stringify({ model: id, ...body }),
  })
  const pieces: Uint8Array[] = []
  let truncated = false
  try {
    for await (const piece of response.body ?? []) pieces.push(piece)
  } catch {
    truncated = true
  }
  const text = Buffer.concat(pieces).toString()
  return { status: response.status, type: response.headers.get('content-type'), text, truncated }
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
const timedOut: [number, string] = [504, 'upstream_timeout']

test.each<[string, (socket: Socket) => void, [number, string]]>([
  ['resets before the first byte', (socket) => socket.resetAndDestroy(), unavailable],
  [
    'resets within its head',
    (socket) => socket.write('HTTP/1.1 200', () => socket.resetAndDestroy()),
    unavailable,
  ],
  ['closes within its head', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'), unavailable],
  [
    'resets within its body',
    (socket) => socket.write(composeResponse('{"a":1}').slice(0, -3), () => socket.resetAndDestroy()),
    unavailable,
  ],
  [
    'closes before its content-length is complete',
    (socket) => socket.end(composeResponse('{"a":1}').slice(0, -3)),
    unavailable,
  ],
  [
    'closes before the last chunk',
    (socket) => socket.end(streamHead.replace('event-stream', 'x') + toChunk('{}')),
    unavailable,
  ],
  ['hangs before the first byte', () => {}, timedOut],
  ['hangs within its head', (socket) => socket.write('HTTP/1.1 200 OK\r\n'), timedOut],
  ['hangs within its body', (socket) => socket.write(composeResponse('{"a":1}').slice(0, -3)), timedOut],
  ['sends garbage', (socket) => socket.write('\0\x01SSH-2.0-berth\r\n\r\n'), unavailable],
  ['sends HTTP/3', (socket) => socket.write('HTTP/3.0 200 OK\r\n\r\n'), unavailable],
  [
    'sends bare line feeds',
    (socket) => socket.write('HTTP/1.1 200 OK\ncontent-length: 2\n\n{}'),
    unavailable,
  ],
  [
    'sends content-length and transfer-encoding',
    (socket) => socket.write(composeResponse('{}', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked')),
    unavailable,
  ],
  [
    'sends two content-length headers',
    (socket) => socket.write(composeResponse('{}', 'HTTP/1.1 200 OK\r\ncontent-length: 7')),
    unavailable,
  ],
  [
    'sends an invalid chunk size',
    (socket) => socket.write(streamHead.replace('event-stream', 'x') + 'zz\r\n'),
    unavailable,
  ],
  [
    'switches protocols',
    (socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    unavailable,
  ],
])('an engine that %s is a 502 or 504', async (_what, script, [status, code]) => {
  engine.answer(script)
  expectError(await ask(), status, code)
  await drained()
})

/** Writes the pieces slowly until the connection closes. */
function drip(socket: Socket, pieces: Iterable<string>): void {
  const iterator = pieces[Symbol.iterator]()
  const timer = setInterval(() => {
    const { value, done } = iterator.next()
    if (done || socket.destroyed) clearInterval(timer)
    else socket.write(value)
  }, 100)
}

test('an endless response head is a 502', async () => {
  engine.answer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    for (let count = 0; count < 64; count += 1) socket.write(`x-${count}: ${'x'.repeat(4000)}\r\n`)
  })
  expectError(await ask(), ...unavailable)
  await drained()
})

test('a head that arrives slowly runs into the first-byte timeout', async () => {
  engine.answer((socket) => drip(socket, composeResponse('{}')))
  expectError(await ask(), ...timedOut)
  await drained()
})

test('a body that arrives slowly is read to the end', async () => {
  const body = '{"choices":[]}'
  engine.answer((socket) => {
    socket.write(composeResponse(body).slice(0, -body.length))
    drip(socket, body)
  })
  expect(await ask()).toMatchObject({ status: 200, text: body, truncated: false })
})

test.each(['resets', 'closes', 'stalls', 'sends a bad chunk'])(
  'when an engine %s within a stream, the caller receives what was sent, sees the truncation, and is metered',
  async (how) => {
    const [requests = 0, input, output = 0] = await metered()
    engine.answer((socket) => {
      socket.write(streamHead + toChunk(chunk) + toChunk(chunk), () => {
        if (how === 'resets') setImmediate(() => socket.resetAndDestroy())
        if (how === 'closes') socket.end()
        if (how === 'sends a bad chunk') socket.write('zz\r\n')
      })
    })
    const outcome = await ask({ stream: true })
    expect(outcome).toMatchObject({ status: 200, truncated: true })
    expect(how === 'resets' ? chunk + chunk : outcome.text).toBe(chunk + chunk)
    await drained()
    // An engine that may go on is asked what it counted before the events count.
    await expect.poll(metered).toEqual([requests + 1, input, output + 2])
  },
)

test('bytes after the content-length are dropped and reach no later request', async () => {
  engine.answer((socket) => socket.write(`${composeResponse('{"first":1}')}{"more":1}`))
  for (const _ of [1, 2]) expect((await ask()).text).toBe('{"first":1}')
})

test('a second response to one request is dropped', async () => {
  engine.answer((socket) => socket.write(composeResponse('{"first":1}') + composeResponse('{"second":1}')))
  for (const _ of [1, 2, 3]) expect((await ask()).text).toBe('{"first":1}')
})

test('unsolicited data on an idle connection reaches no request', async () => {
  engine.answer((socket) => {
    socket.write(composeResponse('{"first":1}'))
    setTimeout(() => socket.write(composeResponse('{"unasked":1}')), 20)
  })
  expect((await ask()).text).toBe('{"first":1}')
  await drained()
  expect((await ask()).text).toBe('{"first":1}')
  await drained()
})

test('a request on a keep-alive connection that the engine closed is retried once on a new one', async () => {
  let served = 0
  engine.answer((socket) => {
    served += 1
    if (served === 2) socket.destroy()
    else socket.write(composeResponse(`{"served":${served}}`))
  })
  expect((await ask()).text).toBe('{"served":1}')
  expect((await ask()).text).toBe('{"served":3}')
  engine.answer((socket) => socket.destroy())
  const before = engine.requests.length
  expectError(await ask(), ...unavailable)
  expect(engine.requests.length).toBe(before + 2)
})

test('informational responses and chunk extensions are not part of the response', async () => {
  engine.answer((socket) =>
    socket.write(
      `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${streamHead}${toChunk(chunk + endChunk, ';a=b;c="d"')}${lastChunk}`,
    ),
  )
  expect(await ask({ stream: true })).toMatchObject({ status: 200, text: chunk + endChunk, truncated: false })
})

test('a 5xx with an HTML body is forwarded unchanged', async () => {
  const head = 'HTTP/1.1 503 Busy\r\ncontent-type: text/html\r\nset-cookie: a=b\r\nconnection: close'
  engine.answer((socket) => socket.end(composeResponse('<h1>Busy</h1>', head)))
  expect(await ask()).toEqual({ status: 503, type: 'text/html', text: '<h1>Busy</h1>', truncated: false })
})

test('a stream with an error event, comments and both line endings is forwarded unchanged', async () => {
  const events = `: hi\r\n\r\n${chunk}data: {"error":{"message":"out of memory"}}\r\n\r\ndata: [DONE]\n\n`
  engine.answer((socket) => socket.end(streamHead + toChunk(events) + lastChunk))
  expect(await ask({ stream: true })).toMatchObject({ status: 200, text: events, truncated: false })
})

test('an endless event truncates the stream before it fills the memory', async () => {
  engine.answer((socket) => {
    socket.write(streamHead)
    for (let sent = 0; sent < 16; sent += 1) socket.write(toChunk('x'.repeat(1024 * 1024)))
  })
  expect(await ask({ stream: true })).toMatchObject({ text: '', truncated: true })
  await drained()
})

test.each([
  ['is missing', '{"choices":[]}', [1, 0, 0]],
  ['is implausible', '{"usage":{"prompt_tokens":-5,"completion_tokens":1e30}}', [1, 0, 0]],
  ['is only a sum', '{"usage":{"total_tokens":5}}', [1, 5, 0]],
  ['is present', '{"usage":{"prompt_tokens":5,"completion_tokens":7}}', [1, 5, 7]],
  [
    'occurs twice',
    '{"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":2,"completion_tokens":3}}',
    [1, 2, 3],
  ],
  ['ends a long response', `{"data":"${long}","usage":{"prompt_tokens":5}}`, [1, 5, 0]],
  ['starts a long response', `{"usage":{"prompt_tokens":5},"data":"${long}"}`, [1, 5, 0]],
])('a JSON response whose usage %s', async (_how, body, added) => {
  const before = await metered()
  engine.answer((socket) => socket.write(composeResponse(body)))
  expect((await ask()).text).toBe(body)
  expect(await metered()).toEqual(before.map((count, index) => count + added[index]!))
})

test.each([
  ['is missing', chunk, chunk, [1, 0, 1]],
  ['occurs twice', usageChunk + chunk + usageChunk, chunk, [1, 1, 2]],
  ['is implausible', chunk + usageChunk.replace('1', '-1'), chunk, [1, 0, 1]],
])('a stream whose usage %s', async (_how, sent, seen, added) => {
  const before = await metered()
  engine.answer((socket) => socket.write(streamHead + toChunk(sent + endChunk) + lastChunk))
  expect((await ask({ stream: true })).text).toBe(seen + endChunk)
  expect(await metered()).toEqual(before.map((count, index) => count + added[index]!))
})

test('no sockets, timers or memory leak', async () => {
  await gateway.expectUnchanged()
})
