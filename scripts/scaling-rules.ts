import {
  decideInstances,
  findSampleMilliseconds,
} from '../server/src/features/deployments/scaling/decide-instances.ts'
import type { LoadSample } from '../server/src/features/deployments/scaling/load-window.ts'
import type { ScalingRule, SimulatedLoad } from './load-simulation.ts'

/** What the rules have in common. */
export interface RuleSettings {
  minInstances: number
  maxInstances: number
  /** Requests in flight per instance to aim for */
  targetConcurrency: number
  /** Of a request, for the rule that counts requests per second */
  meanSeconds: number
  startMilliseconds: number
}

export function createBerthRule({ startMilliseconds, ...policy }: RuleSettings): ScalingRule {
  const recentStarts = [startMilliseconds]
  const kept = findSampleMilliseconds(recentStarts)
  let load: LoadSample[] = []
  return {
    name: 'Berth',
    intervalMilliseconds: 2_000,
    decide({ now, inFlight, queued, instances }) {
      load = [...load.filter(({ at }) => at >= now - kept - 2_000), { at: now, inFlight, queued }]
      return decideInstances(
        { ...policy, idleMinutes: null, scheduledMinimum: null },
        { now, isAwake: true, load, instances, recentStarts, lastUsedAt: now, refusals: null },
      ).desired
    },
  }
}

/**
 * SkyServe's `RequestRateAutoscaler` with its defaults: the rate of the last minute, looked at every 20 s, up
 * after 300 s and down after 1,200 s of the same direction (skypilot-org/skypilot, `sky/serve/autoscalers.py`
 * and `constants.py`).
 */
export function createSkyServeRule({ targetConcurrency, meanSeconds }: RuleSettings): ScalingRule {
  const targetRate = targetConcurrency / meanSeconds
  const arrivals: { at: number; arrived: number }[] = []
  const settle = createDelays({ up: 300_000 / 20_000, down: 1_200_000 / 20_000 })
  return {
    name: 'SkyServe',
    intervalMilliseconds: 20_000,
    decide(load) {
      const { now, arrived } = load
      arrivals.push({ at: now, arrived })
      while (arrivals[0]!.at < now - 60_000) arrivals.shift()
      const rate = (arrived - arrivals[0]!.arrived) / 60
      return settle(countPresent(load), Math.ceil(rate / targetRate))
    },
  }
}

/**
 * Ray Serve's policy with its defaults: the mean of 30 s, up after 30 s and down after 600 s of the same
 * direction (ray-project/ray, `python/ray/serve/autoscaling_policy.py` and `AutoscalingConfig`).
 */
export function createRayServeRule({ targetConcurrency }: RuleSettings): ScalingRule {
  const mean = createMean(15)
  const settle = createDelays({ up: 30_000 / 2_000, down: 600_000 / 2_000 })
  return {
    name: 'Ray Serve',
    intervalMilliseconds: 2_000,
    decide(load) {
      return settle(countPresent(load), Math.ceil(mean(load.inFlight + load.queued) / targetConcurrency))
    },
  }
}

/**
 * KubeAI's autoscaler with its defaults: the mean of 10 minutes, looked at every 10 s, up at once and down
 * after 30 s of the same direction (substratusai/kubeai, `internal/modelautoscaler/autoscaler.go`).
 */
export function createKubeAiRule({ targetConcurrency }: RuleSettings): ScalingRule {
  const mean = createMean(60)
  const settle = createDelays({ up: 0, down: 3 })
  return {
    name: 'KubeAI',
    intervalMilliseconds: 10_000,
    decide(load) {
      return settle(countPresent(load), Math.ceil(mean(load.inFlight + load.queued) / targetConcurrency))
    },
  }
}

export function createFixedRule(instances: number): ScalingRule {
  return { name: `always on (${instances})`, intervalMilliseconds: 60_000, decide: () => instances }
}

/** Follows what a rule wants when it wanted the same direction more than so many times in a row. */
function createDelays(periods: { up: number; down: number }) {
  let count = 0
  return (present: number, wanted: number): number => {
    if (wanted === present) count = 0
    else if (wanted > present) count = Math.max(0, count) + 1
    else count = Math.min(0, count) - 1
    if (count <= periods.up && count >= -periods.down) return present
    count = 0
    return wanted
  }
}

function createMean(length: number) {
  const values: number[] = []
  return (value: number): number => {
    values.push(value)
    if (values.length > length) values.shift()
    return values.reduce((sum, each) => sum + each, 0) / values.length
  }
}

function countPresent({ instances }: SimulatedLoad): number {
  return instances.filter(({ status }) => status !== 'draining').length
}
