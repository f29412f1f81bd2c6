import { expect, test } from 'vitest'
import { isPastRetryDeadline, retryDelaySeconds } from './retry-schedule.ts'

test('the delay between attempts grows from seconds to one hour', () => {
  const delays = Array.from({ length: 10 }, (_, index) => retryDelaySeconds(index + 1))
  expect(delays).toEqual([2, 6, 18, 54, 162, 486, 1458, 3600, 3600, 3600])
  expect(retryDelaySeconds(2_000)).toBe(3600)
})

test('retries end after 3 days', () => {
  const created = new Date('2026-01-01T00:00:00Z')
  expect(isPastRetryDeadline(created, new Date('2026-01-03T23:59:59.999Z'))).toBe(false)
  expect(isPastRetryDeadline(created, new Date('2026-01-04T00:00:00Z'))).toBe(true)
})
