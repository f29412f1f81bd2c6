import { describe, expect, test } from 'vitest'
import { ApplicationError, NotFoundError, RateLimitedError } from '../errors.ts'
import type { ErrorKind } from '../errors.ts'
import { toPublicError } from './errors.ts'

const statuses: Record<ErrorKind, number> = {
  malformed: 400,
  invalid: 422,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  too_slow: 408,
  misdirected: 421,
  rate_limited: 429,
  unavailable: 503,
  upstream_failed: 502,
  upstream_timeout: 504,
}

describe('toPublicError', () => {
  test.each(Object.entries(statuses))('%s is a %d with its own code and message', (kind, status) => {
    const error = new ApplicationError(kind as ErrorKind, 'some_code', 'Some words.')
    expect(toPublicError(error)).toMatchObject({ status, code: 'some_code', detail: 'Some words.' })
  })

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
