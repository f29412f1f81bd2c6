import { expect, test } from 'vitest'
import { readEngineError } from './engine-errors.ts'

const uid = 'dep-1'
const read = (status: number, body: string) => {
  const told = readEngineError(status, Buffer.from(body), uid)
  return told === 'gone' ? told : told.toString()
}

test('a model that the engine no longer has', () => {
  const body = JSON.stringify({
    detail: `[address=a:1, pid=2] Model not found in the model list, uid: ${uid}`,
  })
  expect(read(400, body)).toBe('gone')
  expect(read(404, body)).toBe('gone')
  expect(read(500, body)).not.toBe('gone')
  expect(read(400, '{"detail":"the tool x was not found"}')).not.toBe('gone')
})

test('a detail becomes an error in OpenAI’s shape, without the address that it begins with', () => {
  expect(JSON.parse(read(400, '{"detail":"[address=10.0.0.1:3, pid=7] too long"}'))).toEqual({
    error: { message: 'too long', type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
  })
  expect(JSON.parse(read(429, '{"detail":[{"loc":["body"]}]}'))).toMatchObject({
    error: { message: '[{"loc":["body"]}]', type: 'rate_limit_error' },
  })
})

test.each([
  '{"error":{"message":"x"}}',
  '{"error":"x","detail":"y"}',
  'Internal Server Error',
  '',
  'null',
  '[]',
])('passed on as it is: %s', (body) => expect(read(500, body)).toBe(body))
