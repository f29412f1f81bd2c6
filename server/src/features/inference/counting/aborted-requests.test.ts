import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { createTimeSlices } from '../../../gateway/time-slices.ts'
import type { TokenCounts } from '../../../ports/runtime-engine.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import { countAbortedRequests } from './aborted-requests.ts'
import type { Arrival } from '../arrival/caller.ts'
import { chatCompletions } from '../protocols/chat-completions.ts'
import { embeddings } from '../protocols/embeddings.ts'
import { messages } from '../protocols/messages/messages.ts'
import type { Protocol } from '../protocols/protocol.ts'
import { createRequestReader } from '../arrival/request-body.ts'
import type { EngineTarget } from '../targets/targets.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Asks an engine that gives `answer` for the tokens of an aborted request. */
async function count(
  afterAbort: TokenCounts['afterAbort'],
  answer: string,
  protocol: Protocol = chatCompletions,
  times = 1,
) {
  const requests: string[] = []
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    requests.push([request.method, request.url, request.headers.authorization, body].join(' '))
    response.writeHead(answer === '' ? 404 : 200).end(answer)
  }
  const server = createServer((request, response) => void respond(request, response))
  server.listen(0, '127.0.0.1')
  closers.push(() => server.close().closeAllConnections())
  await new Promise((resolve) => server.once('listening', resolve))
  const target = {
    servedModelName: 'dep-1',
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    basePath: '/base',
    authorization: 'Bearer key',
    counts: { inEvents: 'none', afterAbort },
    sharedWith: null,
    cacheSalt: null,
    cacheOff: false,
    lora: null,
  } as EngineTarget
  const body = Buffer.from('{"model":"mine","messages":[]}')
  const request = createRequestReader(protocol)(body, createTimeSlices(1))
  const arrival = { protocol, request, caller: { request: { id: 'r-1' } } } as unknown as Arrival
  const aborted = countAbortedRequests(pino({ level: 'silent' }))
  const usages: (TokenUsage | null)[] = []
  for (let time = 0; time < times; time += 1) aborted.count(arrival, target, (usage) => usages.push(usage))
  await aborted.close()
  expect(usages).toHaveLength(times)
  return { usage: usages[0], usages, requests }
}

test('an engine that tokenizes counts the prompt of an aborted request', async () => {
  const { usage, requests } = await count('tokenize', '{"count":7,"tokens":[1]}')
  expect(usage).toEqual({ inputTokens: 7, outputTokens: 0 })
  expect(requests).toEqual(['POST /base/tokenize Bearer key {"model":"dep-1","messages":[]}'])
})

test('messages are counted by the route of their format', async () => {
  const { usage, requests } = await count('tokenize', '{"input_tokens":7}', messages)
  expect(usage).toEqual({ inputTokens: 7, outputTokens: 0 })
  expect(requests).toEqual(['POST /base/v1/messages/count_tokens Bearer key {"model":"dep-1","messages":[]}'])
})

test.each([chatCompletions, embeddings])(
  'the gateway asks an engine that reports its own count for it',
  async (protocol) => {
    const answer = '{"usage":{"prompt_tokens":7,"completion_tokens":2}}'
    const { usage, requests } = await count('report', answer, protocol)
    expect(usage).toEqual({ inputTokens: 7, outputTokens: 2 })
    expect(requests).toEqual(['GET /base/v1/requests/r-1/usage Bearer key '])
  },
)

test('a stop waits for the counts of all requests that it aborts', async () => {
  const { usages } = await count('tokenize', '{"count":7}', chatCompletions, 50)
  expect(usages).toEqual(Array.from({ length: 50 }, () => ({ inputTokens: 7, outputTokens: 0 })))
})

test.each(['', '{"count":-1}', 'null', 'not json'])(
  'the answer %j leaves the tokens unknown',
  async (answer) => {
    expect((await count('tokenize', answer)).usage).toBeNull()
    expect((await count('report', answer)).usage).toBeNull()
  },
)

test('the gateway asks for no count of embeddings that an engine can’t tokenize, and asks no engine that does not count', async () => {
  for (const { usage, requests } of [
    await count('none', '{"count":7}'),
    await count('tokenize', '{"count":7}', embeddings),
  ]) {
    expect([usage, requests]).toEqual([null, []])
  }
})
