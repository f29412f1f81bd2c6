import { expect, test } from 'vitest'
import type { EngineError } from '../../ports/model-runtime.ts'
import { translateEngineError } from './engine-errors.ts'
import { openAiErrors } from './protocols/openai.ts'

const request = { modelUid: 'dep-1', requestId: 'r-1', errors: openAiErrors }

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

test('an engine without room is a 429, whatever its status', () => {
  const full = translate(503, { isModelLost: false, isOverloaded: true, message: 'Full.' })
  expect(full).toMatchObject({ status: 429 })
  expect(parse(full)).toEqual({
    error: { message: 'Full.', type: 'rate_limit_error', param: null, code: 'rate_limited' },
  })
})

test('any other body is forwarded unchanged', () => {
  expect(translate(500, null)).toEqual({ status: 500, body: Buffer.from('{}') })
  expect(translateEngineError({}, 500, Buffer.from('x'), request)).toEqual({
    status: 500,
    body: Buffer.from('x'),
  })
})
