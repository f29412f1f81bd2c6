import { expect, test } from 'vitest'
import { observeClock } from './settlement-clock.ts'
import type { SettlementClock } from './settlement-clock.ts'

const start = new Date('2026-03-01T10:00:00Z')
const minute = 60_000
const day = 86_400_000

/** Settles every minute; returns the state of the clock and the time. */
function settle(state: SettlementClock | undefined, from: Date, minutes: number): [SettlementClock, Date] {
  let [clock, now] = [observeClock(state, from), from]
  for (let passed = 0; passed < minutes; passed++) {
    now = new Date(now.getTime() + minute)
    clock = observeClock(clock, now)
  }
  return [clock, now]
}

const later = (moment: Date, milliseconds: number) => new Date(moment.getTime() + milliseconds)
const isTrusted = ({ observed_milliseconds: observed }: SettlementClock) => observed === null

test('the first settlement, regular ones and a pause of half a day are trusted', () => {
  const [clock, now] = settle(undefined, start, 10)
  expect(clock).toEqual({ trusted_at: now, observed_at: now, observed_milliseconds: null })
  expect(isTrusted(observeClock(clock, later(now, day / 2)))).toBe(true)
})

test('after a step of days no later hour is trusted until the time was observed for an hour', () => {
  const [before, now] = settle(undefined, start, 10)
  const [waiting, then] = settle(before, later(now, 30 * day), 59)
  expect(isTrusted(waiting)).toBe(false)
  expect(waiting.trusted_at).toEqual(now)
  const [after, end] = settle(waiting, later(then, minute), 0)
  expect(after).toMatchObject({ trusted_at: end, observed_milliseconds: null })
})

test('a second step or a frozen worker does not count as observed', () => {
  const [before, now] = settle(undefined, start, 10)
  const [waiting, then] = settle(before, later(now, 2 * day), 10)
  const [again] = settle(waiting, later(then, day), 10)
  expect(isTrusted(again)).toBe(false)
  expect(again.observed_milliseconds).toBe(25 * minute)
})

test('a clock that is set back is trusted at once, and nothing in the future was', () => {
  const [before, now] = settle(undefined, start, 10)
  const [waiting] = settle(before, later(now, 30 * day), 20)
  const [back, then] = settle(waiting, later(now, 20 * minute), 1)
  expect(back).toMatchObject({ trusted_at: then, observed_milliseconds: null })
})
