import { expect, test } from 'vitest'
import { compareRules, findWait, promisedWaitSeconds } from './compare-scaling.ts'
import { generateArrivals } from './load-arrivals.ts'
import { simulateLoad } from './load-simulation.ts'
import { createFixedRule } from './scaling-rules.ts'

const day = { milliseconds: 6 * 3_600_000, peakRate: 12, seed: 1 }

test('a simulated day costs at most half of instances that are always on, within the promised wait, and no other rule is better in both', () => {
  const results = compareRules(generateArrivals(day))
  const [berth, ...others] = results
  const alwaysOn = results.at(-1)!
  expect(berth!.refused).toBe(0)
  expect(findWait(berth!.waits, 0.99)).toBeLessThanOrEqual(promisedWaitSeconds)
  expect(berth!.gpuSeconds).toBeLessThanOrEqual(alwaysOn.gpuSeconds / 2)
  for (const { name, gpuSeconds, waits } of others) {
    const isBetter = gpuSeconds <= berth!.gpuSeconds && findWait(waits, 0.99) <= findWait(berth!.waits, 0.99)
    expect(isBetter, name).toBe(false)
  }
})

test('the simulation serves or refuses each request once, in the order of arrival', () => {
  const arrivals = [0, 10, 20, 30].map((at) => ({ at, duration: 1_000 }))
  const fleet = {
    sequences: 1,
    startMilliseconds: 0,
    minInstances: 1,
    maxInstances: 1,
    patienceMilliseconds: 2_000,
  }
  const result = simulateLoad(createFixedRule(1), [...arrivals, { at: 10_000, duration: 1 }], fleet)
  expect([...result.waits]).toEqual([0, 0, 990, 1_980])
  expect(result.refused).toBe(1)
})
