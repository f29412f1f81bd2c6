import { createServer } from 'node:http'
import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import pino from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createBufferPool } from '../../../gateway/buffer-pool.ts'
import { createCircuitBreakers } from '../../../gateway/circuit-breakers.ts'
import { createTimeSlices } from '../../../gateway/time-slices.ts'
import { createUpstreamClient } from '../../../gateway/upstream-client/client.ts'
import { createWriteBatch } from '../../../gateway/write-batch.ts'
import type { ModelRuntime } from '../../../ports/model-runtime.ts'
import { Admission } from '../waiting/admission.ts'
import { EngineTotals } from '../counting/engine-totals.ts'
import { Exchange } from './exchange.ts'
import type { ExchangeDeps } from './exchange.ts'
import type { FinishedExchange } from '../counting/finished-exchange.ts'
import { createRequestReader } from '../arrival/request-body.ts'
import type { InferenceRequest } from '../arrival/request-body.ts'
import type { UnansweredRequest } from './send-again.ts'
import type { EngineTarget } from '../targets/targets.ts'
import { toTokenUsage } from '../protocols/usage.ts'
import type { Protocol } from '../protocols/protocol.ts'
import { mainProtocols, protocols } from '../protocols/protocols.ts'

interface Cost {
  in: number
  out: number
}

/** Unlike OpenAI's: its usage is nested, its events report usage in two parts, and its errors differ. */
const summaries: Protocol = {
  path: '/v1/summaries',
  enginePath: '/v1/summaries',
  route: null,
  translations: [],
  description: {
    operationId: 'createSummary',
    summary: 'Summarize',
    request: z.any(),
    response: z.any(),
    events: null,
  },
  operation: 'summary',
  modelTypes: ['LLM'],
  members: ['style'],
  edit: ({ members }) =>
    members
      .filter(({ name }) => name === 'style')
      .map(({ start, end }) => ({ start, end, text: '"engine style"' })),
  countedAt: null,
  bodies: {
    usageAt: ['result', 'cost'],
    readUsage: (cost) => toTokenUsage(cost['in'], cost['out']),
    openRewriter: ({ style }) =>
      style === 'loud' ? { take: (bytes) => bytes.toUpperCase(), finish: () => '' } : null,
  },
  events: {
    counted: {},
    countMark: 'cost"',
    readUsage(event) {
      const { step } = event as { step: { start?: { cost: Cost }; end?: { cost: Cost } } }
      if (step.start !== undefined) return { inputTokens: step.start.cost.in }
      return step.end === undefined ? null : { outputTokens: step.end.cost.out }
    },
    chunkMark: 'word"',
    isEmptyChunk: null,
    openChoices: () => null,
    openRemoval: ({ style }) =>
      style === 'silent'
        ? {
            cutsCounts: false,
            leavesNull: false,
            judge: (event) =>
              (event as { step?: { end?: unknown } }).step?.end === undefined ? 'keep' : 'drop',
          }
        : null,
  },
  errors: {
    body: z.any(),
    compose: ({ status, detail }, requestId) => ({
      status: status + 1,
      body: { oops: detail, request: requestId },
    }),
  },
}

const cleanups: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

async function listen(
  handle: (...given: Parameters<RequestListener>) => void | Promise<void>,
): Promise<string> {
  const server: Server = createServer((request, response) => void handle(request, response)).listen(
    0,
    '127.0.0.1',
  )
  await new Promise((resolve) => server.once('listening', resolve))
  cleanups.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const silentLog = { info() {}, warn() {}, error() {} }

/** Sends `body` through an exchange of the invented protocol to an engine that responds with `respond`. */
async function run(body: object, respond: (response: ServerResponse) => void) {
  let received = { url: '', body: '' }
  const origin = await listen(async (request, response) => {
    received = { url: request.url ?? '', body: await text(request) }
    respond(response)
  })
  const writeBatch = createWriteBatch()
  const client = createUpstreamClient({ connect: 5_000, firstByte: 5_000, idle: 5_000 }, writeBatch)
  const breakers = createCircuitBreakers()
  const limits = {
    perUser: 9,
    perInstance: 9,
    queuedPerUser: 9,
    queueMilliseconds: 1_000,
    turnMilliseconds: 1_000,
  }
  const admission = new Admission(limits, breakers)
  cleanups.push(
    () => client.close(),
    () => admission.close(),
  )
  const engineTotals = new EngineTotals(pino({ level: 'silent' }))
  cleanups.push(() => engineTotals.close())
  let finished: FinishedExchange | null = null
  const deps = {
    inference: {
      admission,
      breakers,
      buffers: createBufferPool(256 * 1024),
      client,
      outside: client,
      openRequests: { add() {}, delete() {}, stopAll() {}, close() {} },
      abortedRequests: { count() {}, close: async () => {} },
      engineTotals,
      prefixKey: null,
      traces: null,
      writeBatch,
    },
    tokens: { record: vi.fn(), log() {}, write() {} },
    logsRequests: true,
    sendAgain: (request: UnansweredRequest, error: unknown) => request.giveUp(error, 'engine'),
    toPublicError: (error: unknown) => ({ status: 503, code: 'internal_error', detail: String(error) }),
    onFinished: (exchange: FinishedExchange) => void (finished = exchange),
    db: null as never,
  } satisfies ExchangeDeps
  const counts = { inEvents: 'none', afterAbort: 'none' }
  const runtime = {
    readEngineError: ({ body }) => ({ isModelLost: false, message: body }),
  } as Partial<ModelRuntime> as ModelRuntime
  const facts = {
    runtime,
    sharedWith: null,
    cacheSalt: null,
    cacheOff: false,
    lora: null,
    aliasOrder: null,
    basePath: '/base',
    counts,
  }
  const target = { deploymentId: 'a', modelName: 'm', servedModelName: 'dep-1', origin, ...facts }
  const targets = [{ ...target, parallelSequences: null, authorization: null } as EngineTarget]
  const read = createRequestReader(summaries)
  const slices = createTimeSlices(1)
  const url = await listen((message, raw) => {
    const viewer = { userId: 1, session: { id: 1 }, standings: [] } as never
    const caller = {
      request: { id: 'r-1', headers: message.headers, viewer, log: silentLog, hasOwnAccessLog: false },
      reply: { raw, getHeaders: () => ({}), header() {}, send: () => raw.writeHead(500).end(), hijack() {} },
      asker: { viewer, member: null, outsideName: null },
      arrivedAt: 0,
    }
    const request = read(Buffer.from(JSON.stringify(body)), slices) as InferenceRequest
    const exchange = new Exchange(deps, {
      protocol: summaries,
      caller,
      request,
      answers: null,
      targets,
      fallback: null,
      afterOrder: 0,
      receivedAt: 0,
    })
    raw.once('close', () => exchange.close())
    exchange.start()
  })
  const response = await fetch(url)
  const answer = await response.text()
  await vi.waitFor(() => expect(finished).not.toBeNull())
  await nextTurn()
  expect(admission.inFlight.total).toBe(0)
  return { status: response.status, answer, usage: finished!.usage, received }
}

const json = (value: unknown) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
const makeResult = (model: string) => ({
  by: { model: 'dep-1' },
  result: { text: 'dep-1', by: { model }, cost: { in: 3, out: 4 } },
})

test('a request reaches the path of the protocol with its edits', async () => {
  const { received } = await run({ style: 'x', model: 'mine', text: '…' }, json({}))
  expect(received).toEqual({
    url: '/base/v1/summaries',
    body: '{"style":"engine style","model":"dep-1","text":"…"}',
  })
})

test('the usage of a document is where the protocol has it, and the document is unchanged', async () => {
  const { answer, usage } = await run({ model: 'mine' }, json(makeResult('dep-1')))
  expect(answer).toBe(JSON.stringify(makeResult('dep-1')))
  expect(usage).toEqual({ inputTokens: 3, outputTokens: 4 })
})

test.each([100_000, 600_000])(
  'the same in a document of %i bytes with the result at its start or its end',
  async (length) => {
    const padding = 'x'.repeat(length)
    for (const toDocument of [
      (model: string) => ({ ...makeResult(model), padding }),
      (model: string) => ({ padding, ...makeResult(model) }),
    ]) {
      const { answer, usage } = await run({ model: 'mine' }, json(toDocument('dep-1')))
      expect(answer === JSON.stringify(toDocument('dep-1'))).toBe(true)
      expect(usage).toEqual({ inputTokens: 3, outputTokens: 4 })
    }
  },
)

test('the protocol rewrites documents', async () => {
  const { answer } = await run({ model: 'dep-1', style: 'loud' }, json({ a: 'b' }))
  expect(answer).toBe('{"A":"B"}')
})

const events = [
  { step: { model: 'dep-1', start: { cost: { in: 5 } } }, other: { model: 'dep-1' } },
  { step: { word: 'a' } },
  { step: { word: '"model":"dep-1"' } },
  { step: { end: { cost: { out: 9 } } } },
]
const stream = (sent: readonly object[]) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(sent.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
}

function parseEvents(answer: string): unknown[] {
  return answer
    .trimEnd()
    .split('\n\n')
    .map((event) => JSON.parse(event.slice('data: '.length)))
}

test('the usage of events is where the protocol has it, and usage in parts adds up', async () => {
  const all = await run({ model: 'mine', stream: true }, stream(events))
  expect(parseEvents(all.answer)).toEqual(events)
  expect(all.usage).toEqual({ inputTokens: 5, outputTokens: 9 })
  const silent = await run({ model: 'mine', stream: true, style: 'silent' }, stream(events))
  expect(parseEvents(silent.answer)).toEqual(events.slice(0, -1))
  expect(silent.usage).toEqual({ inputTokens: 5, outputTokens: 9 })
})

test('chunks of the protocol count as tokens until the engine reports them', async () => {
  const { usage } = await run({ model: 'mine', stream: true }, stream(events.slice(0, -1)))
  expect(usage).toEqual({ inputTokens: 5, outputTokens: 2 })
})

test('errors of an engine get the shape of the protocol', async () => {
  const { status, answer } = await run({ model: 'mine' }, (response) =>
    response.writeHead(400, { 'content-type': 'text/plain' }).end('too long'),
  )
  expect([status, JSON.parse(answer)]).toEqual([401, { oops: 'too long', request: 'r-1' }])
})

test('each protocol has its own path and operation, and each model type a protocol that serves it', () => {
  expect(new Set(protocols.map(({ path }) => path)).size).toBe(protocols.length)
  expect(new Set(protocols.map(({ description }) => description.operationId)).size).toBe(protocols.length)
  for (const [type, main] of Object.entries(mainProtocols)) {
    expect(main.modelTypes).toContain(type)
    expect(protocols).toContain(main)
  }
})
