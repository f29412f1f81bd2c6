import { expect, test } from 'vitest'
import { hideKey } from './hide-key.ts'

test.each([
  ['Incorrect API key provided: sk-secret.', 'Bearer sk-secret', 'Incorrect API key provided: ***.'],
  ['{"error":"sk-\\"secret and sk-\\"secret"}', 'sk-"secret', '{"error":"*** and ***"}'],
  ['?key=sk%2Fsecret', 'sk/secret', '?key=***'],
  ['nothing here', 'Bearer sk-secret', 'nothing here'],
  ['an error', 'Bearer an', 'an error'],
  ['an error', null, 'an error'],
])('%s, with %s, becomes %s', (body, authorization, hidden) => {
  expect(hideKey(body, authorization)).toBe(hidden)
  expect(String(hideKey(Buffer.from(body), authorization))).toBe(hidden)
})
