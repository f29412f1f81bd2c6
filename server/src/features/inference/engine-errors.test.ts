import { expect, test } from 'vitest'
import { translateEngineError } from './engine-errors.ts'

const uid = 'dep-1'
const translate = (status: number, body: string) => {
  const translated = translateEngineError(status, Buffer.from(body), uid)
  return translated === 'model_lost' ? translated : translated.toString()
}

test('an error that names the uid as not found means that the engine lost the model', () => {
  const body = JSON.stringify({
    detail: `[address=a:1, pid=2] Model not found in the model list, uid: ${uid}`,
  })
  expect(translate(400, body)).toBe('model_lost')
  expect(translate(404, body)).toBe('model_lost')
  expect(translate(500, body)).not.toBe('model_lost')
  expect(translate(400, '{"detail":"the tool x was not found"}')).not.toBe('model_lost')
})

test('a FastAPI detail becomes an error in OpenAI’s shape, without the address at its start', () => {
  expect(JSON.parse(translate(400, '{"detail":"[address=10.0.0.1:3, pid=7] too long"}'))).toEqual({
    error: { message: 'too long', type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
  })
  expect(JSON.parse(translate(429, '{"detail":[{"loc":["body"]}]}'))).toMatchObject({
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
])('the body %j is forwarded unchanged', (body) => expect(translate(500, body)).toBe(body))
