import { expect, test } from 'vitest'
import { ObservedTime } from './observed-time.ts'

const start = Date.parse('2026-03-01T10:00:00Z')

function createWatch() {
  let now = start
  const watch = new ObservedTime(() => now)
  /** Lets time pass in ticks of a second. */
  const pass = (milliseconds: number) => {
    for (const end = now + milliseconds; now < end;) {
      now = Math.min(end, now + 1000)
      measure(0)
    }
  }
  const step = (milliseconds: number) => {
    now += milliseconds
  }
  const measure = (since: number) => watch.between(new Date(since), new Date(now))
  return { pass, step, measure, now: () => now, close: () => watch.close() }
}

test('time that passes counts', () => {
  const watch = createWatch()
  watch.pass(90_000)
  expect(watch.measure(start)).toBe(90_000)
  expect(watch.measure(start + 30_000)).toBe(60_000)
  watch.close()
})

test.each([20 * 60_000, 30 * 86_400_000, -30 * 86_400_000])(
  'a clock that steps by %i ms ends no wait',
  (by) => {
    const watch = createWatch()
    watch.pass(60_000)
    watch.step(by)
    expect(watch.measure(start)).toBe(by > 0 ? 60_000 : 0)
    const after = watch.now()
    watch.pass(30_000)
    // A wait that began after the step.
    expect(watch.measure(after)).toBe(30_000)
    expect(watch.measure(start)).toBe(by > 0 ? 90_000 : 30_000)
    watch.close()
  },
)

test('time passed is never more than the monotonic clock’s: a clock that is set ahead adds nothing', () => {
  let now = start
  let monotonic = 0
  const watch = new ObservedTime(
    () => now,
    () => monotonic,
  )
  const passed = (since: number) => watch.passed(new Date(since), new Date(now))
  const pass = (milliseconds: number) => {
    now += milliseconds
    monotonic += milliseconds
    passed(start)
  }
  pass(30_000)
  now += 3_600_000
  pass(30_000)
  const later = now
  pass(30_000)
  expect(passed(start)).toBe(90_000)
  expect(passed(later)).toBe(30_000)
  // A process that was stopped for a minute: both clocks went on.
  now += 60_000
  monotonic += 60_000
  expect(passed(start)).toBe(150_000)
  now -= 86_400_000
  expect(passed(start)).toBe(0)
  watch.close()
})
