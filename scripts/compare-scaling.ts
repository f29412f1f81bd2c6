import type { Arrival } from './load-arrivals.ts'
import { simulateLoad } from './load-simulation.ts'
import type { LoadResult, SimulatedFleet } from './load-simulation.ts'
import {
  createBerthRule,
  createFixedRule,
  createKubeAiRule,
  createRayServeRule,
  createSkyServeRule,
} from './scaling-rules.ts'

export interface RuleResult extends LoadResult {
  name: string
}

/** What 99 % of the requests must wait at most: a third of an instance's start */
export const promisedWaitSeconds = 20

/**
 * Instances of about the size of a small GPU; vLLM needs a minute to start with a model of 8 billion
 * parameters.
 */
const fleet: SimulatedFleet = {
  sequences: 8,
  startMilliseconds: 60_000,
  minInstances: 1,
  maxInstances: 20,
  patienceMilliseconds: 600_000,
}
/** The default: 80 % of the sequences */
const targetConcurrency = 6

/**
 * Plays the requests with each rule. The last result is that of the fewest instances that keep the promise
 * when they are always on.
 */
export function compareRules(arrivals: readonly Arrival[]): RuleResult[] {
  const meanSeconds = arrivals.reduce((sum, { duration }) => sum + duration, 0) / arrivals.length / 1000
  const settings = { ...fleet, targetConcurrency, meanSeconds }
  const rules = [
    createBerthRule(settings),
    createSkyServeRule(settings),
    createRayServeRule(settings),
    createKubeAiRule(settings),
  ]
  const results = rules.map((rule) => ({ name: rule.name, ...simulateLoad(rule, arrivals, fleet) }))
  return [...results, findAlwaysOn(arrivals)]
}

/** The wait that a share of the served requests doesn't exceed, in seconds. */
export function findWait(waits: Float64Array, share: number): number {
  return waits[Math.min(waits.length - 1, Math.floor(waits.length * share))]! / 1000
}

function findAlwaysOn(arrivals: readonly Arrival[]): RuleResult {
  for (let count = 1; ; count += 1) {
    const rule = createFixedRule(count)
    const fixed = { ...fleet, minInstances: count, maxInstances: count }
    const result = { name: rule.name, ...simulateLoad(rule, arrivals, fixed) }
    if (result.refused === 0 && findWait(result.waits, 0.99) <= promisedWaitSeconds) return result
  }
}
