import { expect, test } from 'vitest'
import type { FailureCode } from '../../../ports/engine-failures.ts'
import { planRestart } from './restart-plan.ts'

const now = new Date('2026-11-23T12:00:00Z')
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000)
const deploying = {
  status: 'deploying',
  engine_restarts: 0,
  engine_restarted_at: null,
} as const
const running = { ...deploying, status: 'running' } as const
const counted = (restarts: number) => ({ engine_restarts: restarts, engine_restarted_at: now })

test.each([
  ['first', { ...deploying }, { counts: counted(1), isNews: false }],
  [
    'third within ten minutes',
    { ...deploying, engine_restarts: 2, engine_restarted_at: minutesAgo(9) },
    { counts: counted(3), isNews: false },
  ],
  [
    'fourth within ten minutes',
    { ...deploying, engine_restarts: 3, engine_restarted_at: minutesAgo(9) },
    null,
  ],
  [
    'fourth after ten minutes',
    { ...deploying, engine_restarts: 3, engine_restarted_at: minutesAgo(10) },
    { counts: counted(1), isNews: false },
  ],
  ['a running engine', running, { counts: counted(1), isNews: true }],
])('a restart: %s', (_name, deployment, expected) => {
  expect(planRestart(deployment, 'engine_crashed', now)).toEqual(expected)
})

test.each<[FailureCode, boolean]>([
  ['engine_crashed', true],
  ['engine_unreachable', true],
  ['instance_lost', true],
  ['out_of_memory', false],
  ['launch_rejected', false],
  ['readiness_timeout', false],
])('a restart after %s: %s', (code, isRestarted) => {
  expect(planRestart(deploying, code, now) !== null).toBe(isRestarted)
})
