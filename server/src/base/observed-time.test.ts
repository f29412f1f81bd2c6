import { expect, test } from 'vitest'
import { ObservedTime } from './observed-time.ts'

const start = Date.parse('2026-03-01T10:00:00Z')

/** A clock that is set, and the monotonic one beside it. Only `tick`, `passed` and `between` observe. */
function createClocks() {
  let now = start
  let monotonic = 0
  const watch = new ObservedTime(
    () => now,
    () => monotonic,
  )
  const passed = (since: number) => watch.passed(new Date(since), new Date(now))
  const between = (since: number) => watch.between(new Date(since), new Date(now))
  const pass = (milliseconds: number) => {
    now += milliseconds
    monotonic += milliseconds
  }
  /** Lets whole seconds pass, and observes each. */
  const tick = (seconds: number) => {
    for (let left = seconds; left > 0; left -= 1) {
      pass(1_000)
      between(now)
    }
  }
  const set = (by: number) => {
    now += by
  }
  return { pass, tick, set, passed, between, now: () => now, close: () => watch.close() }
}

test('time that passes counts', () => {
  const clocks = createClocks()
  clocks.tick(90)
  expect(clocks.between(start)).toBe(90_000)
  expect(clocks.between(start + 30_000)).toBe(60_000)
  clocks.close()
})

test.each([20 * 60_000, 30 * 86_400_000, -30 * 86_400_000])(
  'a clock that steps by %i ms ends no wait',
  (by) => {
    const clocks = createClocks()
    clocks.tick(60)
    clocks.set(by)
    expect(clocks.between(start)).toBe(by > 0 ? 60_000 : 0)
    const after = clocks.now()
    clocks.tick(30)
    // A wait that began after the step.
    expect(clocks.between(after)).toBe(30_000)
    expect(clocks.between(start)).toBe(by > 0 ? 90_000 : 30_000)
    clocks.close()
  },
)

test('time passed is never more than the monotonic clock’s: a clock that is set ahead adds nothing', () => {
  const { passed, set, now, close, ...clocks } = createClocks()
  const pass = (milliseconds: number) => {
    clocks.pass(milliseconds)
    passed(start)
  }
  pass(30_000)
  set(3_600_000)
  pass(30_000)
  const later = now()
  pass(30_000)
  expect(passed(start)).toBe(90_000)
  expect(passed(later)).toBe(30_000)
  // A process that was stopped for a minute: both clocks went on.
  clocks.pass(60_000)
  expect(passed(start)).toBe(150_000)
  set(-86_400_000)
  expect(passed(start)).toBe(0)
  close()
})

test.each([3_600_000, 600_000])(
  'a clock that was an hour ahead and is set back by %i ms: what began before and after counts as it passed',
  (by) => {
    const { tick, passed, between, set, now, close } = createClocks()
    const measure = (since: number) => [passed(since), between(since)]
    tick(30)
    set(3_600_000)
    measure(now())
    tick(30)
    set(-by)
    measure(now())
    const after = now()
    tick(7_200)
    expect(measure(start)).toEqual([7_260_000, 7_260_000])
    expect(measure(after)).toEqual([7_200_000, 7_200_000])
    close()
  },
)

test('what begins between a step and its observation counts whole', () => {
  const { pass, passed, set, now, close } = createClocks()
  pass(1_000)
  passed(start)
  pass(400)
  const before = now()
  set(8_000)
  pass(100)
  const after = now()
  pass(5_000)
  expect(passed(after)).toBe(5_000)
  expect(passed(before)).toBe(5_100)
  expect(passed(start)).toBe(6_500)
  close()
})
