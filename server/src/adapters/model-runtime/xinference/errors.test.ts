import { expect, test } from 'vitest'
import { readEngineError } from './errors.ts'

const servedModelName = 'dep-1'
const read = (status: number, body: string) => readEngineError({ status, body, servedModelName })

test('an error that names the uid as not found means that the engine lost the model', () => {
  const body = JSON.stringify({
    detail: `[address=a:1, pid=2] Model not found in the model list, uid: ${servedModelName}`,
  })
  expect(read(400, body)).toEqual({ isModelLost: true })
  expect(read(404, body)).toEqual({ isModelLost: true })
  expect(read(500, body)).toMatchObject({ isModelLost: false })
  expect(read(400, '{"detail":"the tool x was not found"}')).toMatchObject({ isModelLost: false })
})

test('a FastAPI detail becomes a message, without the address at its start', () => {
  expect(read(400, '{"detail":"[address=10.0.0.1:3, pid=7] too long"}')).toEqual({
    isModelLost: false,
    isOverloaded: false,
    message: 'too long',
  })
  expect(read(429, '{"detail":[{"loc":["body"]}]}')).toEqual({
    isModelLost: false,
    isOverloaded: false,
    message: '[{"loc":["body"]}]',
  })
})

test('a validation error is the caller’s fault, although its status is 500', () => {
  const body =
    'Internal Server Error: 1 validation error for CreateCompletionRequest\nprompt\n  str type expected (type=type_error.str)'
  expect(read(500, body)).toEqual({
    isModelLost: false,
    isRefused: true,
    message: 'prompt str type expected (type=type_error.str)',
  })
})

test('a full queue of SGLang means that the engine has no room', () => {
  expect(read(503, '{"detail":"The request queue is full."}')).toMatchObject({ isOverloaded: true })
  expect(read(503, '{"detail":"No available worker"}')).toMatchObject({ isOverloaded: false })
})

test.each([
  '{"error":{"message":"x"}}',
  '{"error":"x","detail":"y"}',
  'Internal Server Error',
  '',
  'null',
  '[]',
])('callers may see the body %j as it is', (body) => expect(read(500, body)).toBeNull())
