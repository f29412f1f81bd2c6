import { expect, test } from 'vitest'
import { ApiError } from '../api/client.ts'
import { describeError } from './states.tsx'

test('an error that names its delay says once when to try again', () => {
  const refused = (retryAfter: number | null) =>
    describeError(
      new ApiError({
        status: 429,
        code: 'rate_limited',
        detail: 'Too many failed sign-ins. Try again later.',
        retryAfter,
      }),
    )
  expect(refused(900)).toBe('Too many failed sign-ins. Try again in 15 minutes.')
  expect(refused(null)).toBe('Too many failed sign-ins. Try again later.')
})
