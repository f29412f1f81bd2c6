import { describe, expect, test } from 'vitest'
import { errorCodes } from '../base/error-codes.ts'
import { NotFoundError, RateLimitedError } from '../base/errors.ts'
import { toPublicError } from './errors.ts'

describe('toPublicError', () => {
  test.each([
    ['an internal error', new Error('secret: connection to db-1 failed')],
    ['a database error', Object.assign(new Error('relation "secret" does not exist'), { code: '42P01' })],
    ['an error with a 5xx status', Object.assign(new Error('secret'), { statusCode: 503 })],
    ['an error with a 2xx status', Object.assign(new Error('secret'), { statusCode: 200 })],
    ['a string', 'secret'],
    ['undefined', undefined],
    ['null', null],
  ])('%s is a 500 without its message', (_what, error) => {
    const publicError = toPublicError(error)
    expect(publicError).toEqual({
      status: 500,
      code: 'internal_error',
      detail: 'The server failed to process the request.',
    })
  })

  test('a 4xx of the framework keeps its status but not its message', () => {
    const publicError = toPublicError(
      Object.assign(new Error('secret'), { statusCode: 431, code: 'FST_ERR_OTHER' }),
    )
    expect(publicError.status).toBe(431)
    expect(JSON.stringify(publicError)).not.toContain('secret')
  })

  test('retryAfterSeconds is rounded up to whole seconds, at least 1', () => {
    expect(toPublicError(new RateLimitedError(0.2, 'Wait.')).retryAfterSeconds).toBe(1)
    expect(toPublicError(new RateLimitedError(61.5, 'Wait.')).retryAfterSeconds).toBe(62)
    expect(toPublicError(new NotFoundError('No.')).retryAfterSeconds).toBeNull()
  })
})

test('the meaning of each code is one sentence', () => {
  for (const [code, { meaning }] of Object.entries(errorCodes))
    expect(meaning, code).toMatch(/^[A-Z][^.]+\.$/)
})
