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
  rate_limited: 429,
  unavailable: 503,
  upstream_failed: 502,
  upstream_timeout: 504,
}

describe('toPublicError', () => {
  test.each(Object.entries(statuses))('%s is a %d with its own code and words', (kind, status) => {
    const error = new ApplicationError(kind as ErrorKind, 'some_code', 'Some words.')
    expect(toPublicError(error)).toMatchObject({ status, code: 'some_code', detail: 'Some words.' })
  })

  test.each([
    ['an error of our own making', new Error('secret: connection to db-1 failed')],
    ['a database error', Object.assign(new Error('relation "secret" does not exist'), { code: '42P01' })],
    ['an error that calls itself a 500', Object.assign(new Error('secret'), { statusCode: 503 })],
    ['an error that calls itself a success', Object.assign(new Error('secret'), { statusCode: 200 })],
    ['a text', 'secret'],
    ['nothing', undefined],
    ['null', null],
  ])('%s is a 500 without its words', (_what, error) => {
    const seen = toPublicError(error)
    expect(seen).toEqual({
      status: 500,
      code: 'internal_error',
      detail: 'Something went wrong on our side.',
    })
  })

  test('a 4xx of the framework keeps its status and loses its words', () => {
    const seen = toPublicError(Object.assign(new Error('secret'), { statusCode: 431, code: 'FST_ERR_OTHER' }))
    expect(seen.status).toBe(431)
    expect(JSON.stringify(seen)).not.toContain('secret')
  })

  test('what is retried later says so in whole seconds, 1 at least', () => {
    expect(toPublicError(new RateLimitedError(0.2, 'Wait.')).retryAfterSeconds).toBe(1)
    expect(toPublicError(new RateLimitedError(61.5, 'Wait.')).retryAfterSeconds).toBe(62)
    expect(toPublicError(new NotFoundError('No.')).retryAfterSeconds).toBeNull()
  })
})
