import { expect, test, vi } from 'vitest'
import { steadyClock } from './steady-clock.ts'

test('the clock does not follow a step of the time of day', () => {
  const before = steadyClock.now()
  const month = 30 * 86_400_000
  vi.spyOn(Date, 'now').mockReturnValue(before - month)
  expect(steadyClock.now()).toBeGreaterThanOrEqual(before)
  expect(steadyClock.now() - before).toBeLessThan(month)
  vi.restoreAllMocks()
})

test('a delay of more than 24.8 days is not run at once', async () => {
  const warnings: string[] = []
  const listen = ({ name }: Error) => void warnings.push(name)
  process.on('warning', listen)
  let hasRun = false
  const timer = steadyClock.setTimeout(() => {
    hasRun = true
  }, 40 * 86_400_000)
  // Timers of one millisecond and warnings come first.
  await new Promise((resolve) => {
    setTimeout(resolve, 20)
  })
  steadyClock.clearTimeout(timer)
  process.off('warning', listen)
  expect(hasRun).toBe(false)
  expect(warnings).toEqual([])
})
