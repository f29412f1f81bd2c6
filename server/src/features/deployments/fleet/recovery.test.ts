import { expect, test } from 'vitest'
import type { EngineFailure, FailureCode } from '../../../ports/engine-failures.ts'
import { findPause } from '../state/recovery.ts'
import type { Recovery } from '../state/recovery.ts'
import { planAttempt } from './recovery.ts'
import type { Attempt } from './recovery.ts'

const start = Date.parse('2026-11-28T12:00:00Z')
const at = (seconds: number) => new Date(start + seconds * 1_000)
const failure = (code: FailureCode = 'engine_crashed'): EngineFailure => ({
  stage: 'runtime',
  code,
  message: 'It crashed.',
})

const recover = (changes: Partial<Recovery> = {}): Recovery => ({
  since: at(-100).toISOString(),
  attempts: 3,
  next_at: at(-1).toISOString(),
  served_at: null,
  cause: failure(),
  ...changes,
})

/** What a test says about an attempt: seconds of the pause, attempts, and what becomes of the hardware. */
function shorten(attempt: Attempt): unknown[] {
  if (attempt.outcome === 'fail') return ['fail']
  const { next_at: nextAt, attempts, since } = attempt.recovery
  const pause = (Date.parse(nextAt!) - start) / 1_000
  const rest = attempt.outcome === 'retry' ? [attempt.isNew, attempt.keepsHardware] : []
  return [attempt.outcome, attempts, pause, (Date.parse(since) - start) / 1_000, ...rest]
}

const served = (seconds: number, attempts = 3) =>
  recover({ attempts, next_at: null, served_at: at(-seconds).toISOString() })

test.each<[string, Recovery | null, unknown[]]>([
  ['first failure: at once', null, ['retry', 1, 0, 0, true, true]],
  ['second', recover({ attempts: 1 }), ['retry', 2, 1, -100, false, true]],
  ['third', recover({ attempts: 2 }), ['retry', 3, 2, -100, false, true]],
  ['last with its hardware', recover({ attempts: 6 }), ['retry', 7, 32, -100, false, true]],
  ['first without its hardware', recover({ attempts: 7 }), ['retry', 8, 64, -100, false, false]],
  ['longest pause', recover({ attempts: 10 }), ['retry', 11, 300, -100, false, false]],
  ['pause that stays', recover({ attempts: 5_000 }), ['retry', 5_001, 300, -100, false, false]],
  ['after an hour', recover({ since: at(-3_600).toISOString() }), ['sleep', 4, 300, -3_600]],
  [
    'the one attempt after a wake',
    recover({ since: at(-9_000).toISOString(), next_at: null }),
    ['sleep', 4, 300, -9_000],
  ],
  ['soon after it served again', served(599), ['retry', 4, 4, 0, false, true]],
  ['an hour of outage begins anew', served(1, 20), ['retry', 21, 300, 0, false, false]],
  ['after ten good minutes', served(600), ['retry', 1, 0, 0, true, true]],
])('a deployment that has served: %s', (_name, recovery, expected) => {
  expect(shorten(planAttempt(recovery, failure(), at(0), true))).toEqual(expected)
  expect(shorten(planAttempt(recovery, failure('out_of_memory'), at(0), true))).toEqual(expected)
})

test.each<[string, FailureCode, Recovery | null, unknown[]]>([
  ['a crash', 'engine_crashed', null, ['retry', 1, 0, 0, true, true]],
  ['a provider', 'provider_error', null, ['retry', 1, 0, 0, true, true]],
  ['a registry', 'download_failed', null, ['retry', 1, 0, 0, true, true]],
  ['memory', 'out_of_memory', null, ['fail']],
  ['a model', 'launch_rejected', null, ['fail']],
  ['hardware', 'no_capacity', null, ['fail']],
  [
    'within a minute',
    'engine_crashed',
    recover({ since: at(-50).toISOString(), attempts: 4 }),
    ['retry', 5, 8, -50, false, true],
  ],
  ['beyond a minute', 'engine_crashed', recover({ since: at(-50).toISOString(), attempts: 5 }), ['fail']],
])('a first start: %s', (_name, code, recovery, expected) => {
  expect(shorten(planAttempt(recovery, failure(code), at(0), false))).toEqual(expected)
})

test('a clock that was set back does not prolong a pause', () => {
  expect(findPause(recover({ next_at: at(300).toISOString() }), at(0))).toBe(300_000)
  expect(findPause(recover({ next_at: at(86_400).toISOString() }), at(0))).toBe(0)
  expect(findPause(recover({ next_at: at(-5).toISOString() }), at(0))).toBe(0)
  expect(findPause(recover({ next_at: null }), at(0))).toBe(0)
})
