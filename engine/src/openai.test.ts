import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { RequestError } from './errors.ts'
import { createCollector, createHead, openEventStream, toCompletion, toErrorBody } from './openai.ts'

/** A response whose reader pauses until `read` is called. */
function slowResponse() {
  const taken: string[] = []
  const pending: (() => void)[] = []
  const writable = new Writable({
    highWaterMark: 20,
    write(data, _encoding, done) {
      taken.push(String(data))
      pending.push(done)
    },
  })
  const response = Object.assign(writable, { writeHead: () => {} }) as unknown as ServerResponse
  return { response, taken, read: () => pending.shift()?.() }
}

test('an event stream waits for a slow reader but not for a disconnected one', async () => {
  const { response, read } = slowResponse()
  const stream = openEventStream(response)
  expect(stream.drained()).toBeUndefined()
  stream.send({ some: 'data that fills the buffer' })
  let waited = false
  const drained = Promise.resolve(stream.drained()).then(() => (waited = true))
  await Promise.resolve()
  expect(waited).toBe(false)
  read()
  await drained
  expect(stream.drained()).toBeUndefined()

  stream.send({ some: 'data that fills the buffer' })
  const left = stream.drained()
  response.destroy()
  await left
  stream.send({})
  stream.finish()
})

test('an unexpected error reveals no details', () => {
  const { status, body } = toErrorBody(new Error('secret detail'))
  expect(status).toBe(500)
  expect(JSON.stringify(body)).not.toContain('secret')
  expect(toErrorBody(new RequestError(503, 'Busy.', { retryAfter: 5 }))).toMatchObject({
    status: 503,
    retryAfter: 5,
    body: { error: { message: 'Busy.', type: 'unavailable_error', param: null, code: null } },
  })
})

test('the pieces add up to the complete answer', () => {
  const collector = createCollector()
  collector.add({ type: 'reasoning', text: 'hm' })
  collector.add({ type: 'tool_call', index: 0, name: 'look' })
  collector.add({ type: 'tool_arguments', index: 0, text: '{"a"' })
  collector.add({ type: 'tool_arguments', index: 0, text: ':1}' })
  const end = { finishReason: 'tool_calls', promptTokens: 3, completionTokens: 4, cachedTokens: 1 } as const
  expect(toCompletion(createHead('m'), [collector.toChoice(0, end)], end)).toMatchObject({
    object: 'chat.completion',
    model: 'm',
    choices: [
      {
        message: {
          content: null,
          reasoning_content: 'hm',
          tool_calls: [{ type: 'function', function: { name: 'look', arguments: '{"a":1}' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  })
})
