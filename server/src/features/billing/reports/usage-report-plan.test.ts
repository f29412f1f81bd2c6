import { describe, expect, test } from 'vitest'
import {
  isCountSettled,
  planAttempt,
  judgeReports,
  toEventTime,
  assumeEarlierAttempt,
  toEventIdentifier,
} from './usage-report-plan.ts'

const at = (text: string) => new Date(`2026-03-${text}Z`)

test('toEventIdentifier: stable, and different for each customer, price and hour', () => {
  const hour = at('10T10:00:00')
  const one = toEventIdentifier('cus_1', 'seconds', hour)
  expect(toEventIdentifier('cus_1', 'seconds', new Date(hour))).toBe(one)
  const others = [
    toEventIdentifier('cus_2', 'seconds', hour),
    toEventIdentifier('cus_1', 'tokens', hour),
    toEventIdentifier('cus_1', 'seconds', at('10T11:00:00')),
  ]
  expect(new Set([one, ...others]).size).toBe(4)
})

describe('toEventTime', () => {
  const periodStart = at('10T10:20:30')
  const period = { periodStart, chargedSince: at('01T00:00:00') }

  test('the last second of the hour', () => {
    expect(toEventTime(at('12T05:00:00'), period, at('12T07:00:00'))).toEqual(at('12T05:59:59'))
  })

  test('the hour in which the period began is inside the period', () => {
    expect(toEventTime(at('10T10:00:00'), period, at('10T12:00:00'))).toEqual(at('10T10:59:59'))
  })

  test('the last hour of the old period stays there while the invoice is still a draft', () => {
    expect(toEventTime(at('10T09:00:00'), period, at('10T10:50:29'))).toEqual(at('10T09:59:59'))
  })

  test('later the hour counts in the new period', () => {
    expect(toEventTime(at('10T09:00:00'), period, at('10T10:50:30'))).toEqual(periodStart)
    expect(toEventTime(at('01T00:00:00'), period, at('30T00:00:00'))).toEqual(periodStart)
  })

  test('without a period, the end of the hour', () => {
    const without = { ...period, periodStart: null }
    expect(toEventTime(at('12T05:00:00'), without, at('30T00:00:00'))).toEqual(at('12T05:59:59'))
  })

  test('not before the subscription got the price, because the processor would not charge it', () => {
    const late = { periodStart, chargedSince: at('12T06:30:00') }
    expect(toEventTime(at('12T05:00:00'), late, at('12T07:00:00'))).toEqual(late.chargedSince)
    expect(toEventTime(at('12T06:00:00'), late, at('12T07:00:00'))).toEqual(at('12T06:59:59'))
  })
})

describe('planAttempt', () => {
  const plan = (first: string, last: string, now: string) =>
    planAttempt({ first_attempt_at: at(first), last_attempt_at: at(last) }, at(now))

  test('wait for two minutes, because another attempt may be in flight', () => {
    expect(plan('10T00:00:00', '10T05:00:00', '10T05:01:59')).toBe('wait')
    expect(plan('10T00:00:00', '10T05:00:00', '10T05:02:00')).toBe('send')
  })

  test('retry with the same identifier for 23 hours', () => {
    expect(plan('10T00:00:00', '10T20:00:00', '10T22:59:59')).toBe('send')
    expect(plan('10T00:00:00', '10T20:00:00', '10T23:00:00')).toBe('wait')
  })

  test('compare with the processor’s total after 24 hours', () => {
    expect(plan('10T00:00:00', '10T20:00:00', '10T23:59:59')).toBe('wait')
    expect(plan('10T00:00:00', '10T20:00:00', '11T00:00:00')).toBe('compare')
  })
})

test('assumeEarlierAttempt: the end of an hour that ended at least 23 hours ago', () => {
  expect(assumeEarlierAttempt(at('10T10:00:00'), at('11T09:59:59'))).toBe(null)
  expect(assumeEarlierAttempt(at('10T10:00:00'), at('11T10:00:00'))).toEqual(at('10T11:00:00'))
})

test('isCountSettled: half an hour after the last attempt', () => {
  expect(isCountSettled(at('10T10:00:00'), at('10T10:29:59'))).toBe(false)
  expect(isCountSettled(at('10T10:00:00'), at('10T10:30:00'))).toBe(true)
  expect(isCountSettled(null, at('10T10:00:00'))).toBe(true)
})

test.each([
  [100, 100, [50], 'lost'],
  [150, 100, [50], 'arrived'],
  [170, 100, [50, 20], 'arrived'],
  [150, 100, [50, 20], 'unclear'],
  [90, 100, [50], 'unclear'],
] as const)(
  'judgeReports: %i counted, %i confirmed, %j unconfirmed: %s',
  (counted, confirmed, open, verdict) => {
    expect(judgeReports(counted, confirmed, open)).toBe(verdict)
  },
)
