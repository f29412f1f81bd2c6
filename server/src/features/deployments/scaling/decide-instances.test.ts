import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { InstancePhase } from '../state/instance-lifecycle.ts'
import {
  decideInstances,
  findIdleMinutes,
  findSampleMilliseconds,
  findTargetConcurrency,
} from './decide-instances.ts'
import type { ScalingObservations, ScalingPolicy } from './decide-instances.ts'
import type { LoadSample } from './load-window.ts'

const now = 10_000_000
const interval = 2_000
const policy: ScalingPolicy = {
  minInstances: 1,
  maxInstances: 10,
  idleMinutes: null,
  targetConcurrency: 10,
  scheduledMinimum: null,
}

/** Samples every two seconds that end now. Each part has a load for so many seconds. */
function load(...parts: [requests: number, seconds: number][]): LoadSample[] {
  const values = parts.flatMap(([requests, seconds]) =>
    Array<number>(Math.round((seconds * 1000) / interval)).fill(requests),
  )
  return values.map((requests, index) => ({
    at: now - (values.length - 1 - index) * interval,
    requests,
  }))
}

function instances(...statuses: InstancePhase[]) {
  return statuses.map((status) => ({ status }))
}

function observe(changes: Partial<ScalingObservations>): ScalingObservations {
  return {
    now,
    isAwake: true,
    load: load([0, 600]),
    instances: instances('running'),
    recentStarts: [60_000],
    lastUsedAt: now,
    refusals: null,
    ...changes,
  }
}

test('more load than the target starts instances at once', () => {
  expect(decideInstances(policy, observe({ load: load([5, 600], [25, 30]) }))).toEqual({
    desired: 3,
    start: 2,
    reason: 'load',
  })
})

test('a burst is judged by its last six seconds', () => {
  const burst = observe({ load: load([4, 600], [40, 6]) })
  expect(decideInstances(policy, burst)).toMatchObject({ desired: 4, start: 3, reason: 'burst' })
})

test('a mean of six seconds that is less than twice the longer mean does not count', () => {
  const noise = observe({ load: load([9, 600], [14, 6]) })
  expect(decideInstances(policy, noise)).toMatchObject({ desired: 1, start: 0, reason: 'steady' })
})

test('instances that start count, so that the same load starts them once', () => {
  const starting = observe({ load: load([30, 60]), instances: instances('running', 'starting', 'starting') })
  expect(decideInstances(policy, starting)).toMatchObject({ desired: 3, start: 0, reason: 'steady' })
})

test('a single sample starts nothing beyond the minimum', () => {
  expect(decideInstances(policy, observe({ load: load([100, 2]) }))).toMatchObject({ desired: 1, start: 0 })
})

test('one instance fewer is desired after 300 s in which every mean asked for fewer', () => {
  const three = instances('running', 'running', 'running')
  const quiet = observe({ load: load([25, 60], [15, 330]), instances: three })
  expect(decideInstances(policy, quiet)).toEqual({
    desired: 2,
    start: 0,
    reason: 'lower_load',
  })
  const early = observe({ load: load([25, 60], [15, 290]), instances: three })
  expect(decideInstances(policy, early)).toMatchObject({ desired: 3 })
})

test.for([
  ['an instance starts', { instances: instances('running', 'running', 'starting') }],
  ['an instance drains', { instances: instances('running', 'running', 'draining') }],
  ['starts take longer than the load has been low', { recentStarts: [700_000] }],
  [
    'the load of some of the time is unknown',
    { load: load([1, 600]).filter((_, index) => index % 20 === 0) },
  ],
  ['the first sample is too young', { load: load([1, 200]) }],
] as const)('the number stays while %s', ([, changes]) => {
  const quiet = observe({ load: load([1, 600]), instances: instances('running', 'running', 'running') })
  expect(decideInstances(policy, quiet)).toMatchObject({ desired: 2 })
  expect(decideInstances(policy, { ...quiet, ...changes })).toMatchObject({ start: 0, reason: 'steady' })
})

test('a lower maximum counts at once', () => {
  const four = observe({
    load: load([90, 60]),
    instances: instances('running', 'running', 'starting', 'running'),
  })
  expect(decideInstances({ ...policy, maxInstances: 2 }, four)).toEqual({
    desired: 2,
    start: 0,
    reason: 'maximum',
  })
})

test('a deployment sleeps after its idle minutes, but not with a request in flight', () => {
  const idle = { ...policy, idleMinutes: 5 }
  const since = (seconds: number) => observe({ lastUsedAt: now - seconds * 1000 })
  expect(decideInstances(idle, since(300))).toEqual({ desired: 0, start: 0, reason: 'idle' })
  expect(decideInstances(idle, since(299))).toMatchObject({ desired: 1 })
  expect(decideInstances(idle, { ...since(300), load: load([1, 600]) })).toMatchObject({
    desired: 1,
  })
  expect(decideInstances(idle, { ...since(300), load: [] })).toMatchObject({ desired: 1 })
  expect(decideInstances(policy, since(86_400))).toMatchObject({ desired: 1 })
})

test('a request wakes a sleeping deployment at once', () => {
  const asleep = observe({ isAwake: false, instances: [] })
  expect(decideInstances(policy, asleep)).toEqual({ desired: 0, start: 0, reason: 'asleep' })
  const called = { ...asleep, load: [{ at: now, requests: 1 }] }
  expect(decideInstances(policy, called)).toEqual({ desired: 1, start: 1, reason: 'request' })
})

test('a schedule wakes and keeps awake; 0 allows sleep', () => {
  const asleep = observe({ isAwake: false, instances: [] })
  expect(decideInstances({ ...policy, scheduledMinimum: 2 }, asleep)).toMatchObject({
    start: 2,
    reason: 'schedule',
  })
  const idle = observe({ lastUsedAt: 0 })
  expect(decideInstances({ ...policy, idleMinutes: 1, scheduledMinimum: 1 }, idle)).toMatchObject({
    desired: 1,
  })
  expect(decideInstances({ ...policy, idleMinutes: 1, scheduledMinimum: 0 }, idle)).toMatchObject({
    desired: 0,
  })
})

test('a schedule of 0 lets a deployment without idle minutes sleep after five', () => {
  const scheduled = { ...policy, scheduledMinimum: 0 }
  const since = (seconds: number) => observe({ lastUsedAt: now - seconds * 1000 })
  expect(decideInstances(scheduled, since(300))).toEqual({ desired: 0, start: 0, reason: 'idle' })
  expect(decideInstances(scheduled, since(299))).toMatchObject({ desired: 1 })
  expect(findIdleMinutes(scheduled)).toBe(5)
  expect(findIdleMinutes({ ...scheduled, idleMinutes: 30 })).toBe(30)
  expect(findIdleMinutes(policy)).toBeNull()
})

test('refused capacity is asked for again with backoff', () => {
  const refused = (count: number, secondsAgo: number) =>
    decideInstances(
      policy,
      observe({ load: load([25, 60]), refusals: { count, lastAt: now - secondsAgo * 1000 } }),
    )
  expect(refused(1, 9)).toEqual({ desired: 3, start: 0, reason: 'no_capacity' })
  expect(refused(1, 10)).toMatchObject({ start: 2 })
  expect(refused(3, 39)).toMatchObject({ start: 0 })
  expect(refused(3, 40)).toMatchObject({ start: 2 })
  expect(refused(50, 299)).toMatchObject({ start: 0 })
  expect(refused(50, 300)).toMatchObject({ start: 2 })
})

test('without a target, an instance gets 80 % of what its engine processes at the same time', () => {
  expect(findTargetConcurrency(7, 4)).toBe(7)
  expect(findTargetConcurrency(null, 16)).toBe(12)
  expect(findTargetConcurrency(null, 1)).toBe(1)
  expect(findTargetConcurrency(null, null)).toBe(1)
})

const anyPolicy = fc
  .record({
    minInstances: fc.integer({ min: 1, max: 100 }),
    more: fc.nat(99),
    idleMinutes: fc.option(fc.integer({ min: 1, max: 10 })),
    targetConcurrency: fc.integer({ min: 1, max: 64 }),
    scheduledMinimum: fc.option(fc.nat(100)),
  })
  .map(({ more, ...rest }) => ({ ...rest, maxInstances: Math.min(100, rest.minInstances + more) }))

const anyObservations: fc.Arbitrary<ScalingObservations> = fc
  .record({
    isAwake: fc.boolean(),
    loads: fc.array(fc.tuple(fc.nat(500), fc.integer({ min: 2, max: 300 })), { maxLength: 6 }),
    statuses: fc.array(fc.constantFrom('starting', 'running', 'draining', 'releasing'), { maxLength: 12 }),
    idleSeconds: fc.nat(2_000),
    recentStarts: fc.array(fc.nat(600_000), { maxLength: 3 }),
    refused: fc.option(fc.record({ count: fc.nat(40), ago: fc.integer({ min: -400_000, max: 400_000 }) })),
  })
  .map(({ loads, statuses, idleSeconds, refused, ...rest }) =>
    observe({
      ...rest,
      load: load(...loads),
      instances: instances(...statuses),
      lastUsedAt: now - idleSeconds * 1000,
      refusals: refused === null ? null : { count: refused.count, lastAt: now - refused.ago },
    }),
  )

test('no decision leaves the limits, and each starts what is missing', () => {
  fc.assert(
    fc.property(anyPolicy, anyObservations, (limits, observed) => {
      const { desired, start, reason } = decideInstances(limits, observed)
      const present = observed.instances.filter(({ status }) => status === 'starting' || status === 'running')
      expect(desired).toBeGreaterThanOrEqual(0)
      expect(desired).toBeLessThanOrEqual(limits.maxInstances)
      expect(start).toBe(reason === 'no_capacity' ? 0 : Math.max(0, desired - present.length))
    }),
    { numRuns: 2_000 },
  )
})

test('with a request in flight a deployment never sleeps, and lower load costs one instance at most', () => {
  fc.assert(
    fc.property(anyPolicy, anyObservations, (limits, observed) => {
      const busy = { ...observed, load: [...observed.load, { at: now, requests: 1 }] }
      const { desired, reason } = decideInstances(limits, busy)
      const present = observed.instances.filter(({ status }) => status === 'starting' || status === 'running')
      expect(desired).toBeGreaterThanOrEqual(1)
      if (reason !== 'maximum') expect(desired).toBeGreaterThanOrEqual(present.length - 1)
    }),
    { numRuns: 2_000 },
  )
})

test('more steady load never asks for fewer instances', () => {
  fc.assert(
    fc.property(anyPolicy, anyObservations, fc.nat(200), fc.nat(200), (limits, observed, requests, more) => {
      const findDesired = (count: number) =>
        decideInstances(limits, { ...observed, load: load([count, 600]) }).desired
      expect(findDesired(requests + more)).toBeGreaterThanOrEqual(findDesired(requests))
    }),
    { numRuns: 1_000 },
  )
})

test('the oldest sample that matters is within the time that callers are told to keep', () => {
  fc.assert(
    fc.property(anyPolicy, anyObservations, (limits, observed) => {
      const needed = now - findSampleMilliseconds(observed.recentStarts) - interval
      const kept = { ...observed, load: observed.load.filter(({ at }) => at >= needed) }
      expect(decideInstances(limits, kept)).toEqual(decideInstances(limits, observed))
    }),
    { numRuns: 1_000 },
  )
})
