import { expect, onTestFinished, test, vi } from 'vitest'
import { DatabaseClock } from './database-clock.ts'

const second = 1_000
const begin = Date.UTC(2026, 2, 1, 10)

/** A database and a host: all times are readings of clocks that the test moves. */
async function openClock(hostError: number) {
  vi.useFakeTimers({ toFake: ['Date'], now: begin + hostError })
  onTestFinished(() => void vi.useRealTimers())
  let monotonic = 0
  let databaseTime = begin
  let roundTrips = [40, 8, 90]
  const pass = (milliseconds: number) => {
    monotonic += milliseconds
    databaseTime += milliseconds
    vi.setSystemTime(Date.now() + milliseconds)
  }
  const lines: string[] = []
  const log = {
    error: (_: object, message: string) => void lines.push(message),
    info: (message: string) => void lines.push(message),
  }
  async function read(): Promise<number> {
    const [there = 1, ...rest] = roundTrips
    roundTrips = rest
    pass(there)
    const at = databaseTime
    pass(there / 2)
    return at
  }
  const clock = await DatabaseClock.open(read, log as never, () => monotonic)
  onTestFinished(() => clock.close())
  return {
    clock,
    lines,
    pass,
    error: () => clock.now().getTime() - databaseTime,
    stepHost: (by: number) => void vi.setSystemTime(Date.now() + by),
    stepDatabase: (by: number) => void (databaseTime += by),
    roundTrip: (milliseconds: number) => void (roundTrips = [milliseconds]),
  }
}

test.each([-86_400 * second, -3600 * second, -60 * second, -second, 0, second, 3600 * second])(
  'the clock of a host that is wrong by %i ms is the database’s, to the shortest round trip',
  async (hostError) => {
    const { error, stepHost, clock, pass } = await openClock(hostError)
    expect(Math.abs(error())).toBeLessThanOrEqual(12)
    stepHost(hostError + 3 * second)
    pass(60 * second)
    await clock.measure()
    expect(Math.abs(error())).toBeLessThanOrEqual(12)
  },
)

test('a slow response moves the clock no further than it proves', async () => {
  const { clock, error, roundTrip } = await openClock(0)
  const before = error()
  roundTrip(5 * second)
  await clock.measure()
  expect(error()).toBe(before)
})

test('a set clock of the database is followed', async () => {
  const { clock, error, stepDatabase } = await openClock(0)
  stepDatabase(-3600 * second)
  await clock.measure()
  expect(Math.abs(error())).toBeLessThanOrEqual(2)
})

test('a host whose clock differs by more than five seconds says so once, and once when it agrees again', async () => {
  const { clock, lines, stepHost } = await openClock(0)
  stepHost(4 * second)
  await clock.measure()
  expect(lines).toEqual([])
  stepHost(-12 * second)
  await clock.measure()
  await clock.measure()
  expect(lines).toEqual([expect.stringContaining('differs from the database’s'.replace('’', "'"))])
  stepHost(8 * second)
  await clock.measure()
  expect(lines).toEqual([expect.anything(), expect.stringContaining('agrees')])
})
