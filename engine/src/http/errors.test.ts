import { expect, test } from 'vitest'
import { RequestError } from '../base/errors.ts'
import { toErrorBody } from './errors.ts'

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
