import { expect, test } from 'vitest'
import type { EngineError } from '../../../ports/engine-failures.ts'
import { translateEngineError } from './engine-errors.ts'
import { openAiErrors } from '../protocols/openai.ts'

const request = {
  servedModelName: 'dep-1',
  requestId: 'r-1',
  protocol: { errors: openAiErrors, messages: 'messages' },
}

const translate = (status: number, error: EngineError | null) =>
  translateEngineError({ readEngineError: () => error }, status, Buffer.from('{}'), request)

function parse(error: ReturnType<typeof translate>): unknown {
  return error === 'model_lost' ? error : JSON.parse(error.body.toString())
}

test('a lost model is no error for the caller', () => {
  expect(translate(400, { isModelLost: true })).toBe('model_lost')
})

test('what the runtime reads becomes an error in the protocol’s shape', () => {
  const read = (status: number) => parse(translate(status, { isModelLost: false, message: 'too long' }))
  expect(read(400)).toEqual({
    error: { message: 'too long', type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
  })
  expect(read(429)).toMatchObject({ error: { type: 'rate_limit_error', code: 'rate_limited' } })
})

test.each([
  ['messages.3.content.0', 'messages.3.content.0 is bad', 'input.1', 'input.1 is bad'],
  ['messages.3.tool_calls.1.function', 'is bad', 'input.2', 'is bad'],
  [
    'stop',
    'stop: is bad, nonstop, stop.0 too',
    'stop_sequences',
    'stop_sequences: is bad, nonstop, stop.0 too',
  ],
  ['top_p', 'top_p is bad', 'top_p', 'top_p is bad'],
])('the field %s of a translated request has the caller’s name', (param, message, path, expected) => {
  const paths = new Map([
    ['messages.3', 'input.1'],
    ['messages.3.tool_calls.1', 'input.2'],
    ['stop', 'stop_sequences'],
  ])
  const body = Buffer.from(JSON.stringify({ error: { message, param, code: 'c' } }))
  const error = translateEngineError({}, 400, body, { ...request, paths })
  expect(parse(error)).toEqual({ error: { message: expected, param: path, code: 'c' } })
})

test('an engine without room is a 429, whatever its status', () => {
  const full = translate(503, { isModelLost: false, isOverloaded: true, message: 'Full.' })
  expect(full).toMatchObject({ status: 429 })
  expect(parse(full)).toEqual({
    error: { message: 'Full.', type: 'rate_limit_error', param: null, code: 'rate_limited' },
  })
})

test.each([
  ['messages', 9005, 'but the messages have 9005 tokens. Shorten the messages.', 'messages'],
  ['messages', null, 'but the messages have more. Shorten the messages.', 'messages'],
  [undefined, 9005, 'but the input has 9005 tokens. Shorten it.', null],
])(
  'a request that is too long is a 400 in the words that clients know (%j)',
  (messages, requestTokens, words, param) => {
    const runtime = {
      readEngineError: () =>
        ({ isModelLost: false, overflow: { contextTokens: 2048, requestTokens } }) as const,
    }
    const protocol = { errors: openAiErrors, ...(messages === undefined ? {} : { messages }) }
    const error = translateEngineError(runtime, 500, Buffer.from('{}'), { ...request, protocol })
    const message = `This model's maximum context length is 2048 tokens, ${words}`
    const type = 'invalid_request_error'
    expect(error).toMatchObject({ status: 400 })
    expect(parse(error)).toEqual({ error: { message, type, param, code: 'context_length_exceeded' } })
  },
)

test('an invalid request is a 400, whatever its status', () => {
  const invalid = translate(500, { isModelLost: false, isRefused: true, message: 'No text.' })
  expect(invalid).toMatchObject({ status: 400 })
  expect(parse(invalid)).toMatchObject({ error: { message: 'No text.', code: 'invalid_request_error' } })
})

test('any other body is forwarded unchanged', () => {
  expect(translate(500, null)).toEqual({ status: 500, body: Buffer.from('{}') })
  expect(translateEngineError({}, 500, Buffer.from('x'), request)).toEqual({
    status: 500,
    body: Buffer.from('x'),
  })
})
