import { expect, test } from 'vitest'
import type { Deployment } from '../../contract.ts'
import { isChanging, isFallingAsleep, isInterrupted } from './status.ts'

const toInstances = (...statuses: Deployment['instances'][number]['status'][]) =>
  statuses.map((status) => ({ status })) as Deployment['instances']

test.each([
  ['running', null, false],
  ['running', 'resize', false],
  ['running', 'engine', true],
  ['running', 'stop', true],
  ['running', 'runtime', true],
  ['running', 'retry', true],
  ['running', 'drain', false],
  ['running', 'instance', false],
  ['deploying', 'engine', false],
  ['failed', 'retry', false],
  ['sleeping', null, false],
] as const)('%s, waiting for %s: interrupted is %s', (status, waiting_for, expected) => {
  const deployment = { status, waiting_for, instances: toInstances('running') }
  expect(isInterrupted(deployment)).toBe(expected)
  expect(isChanging(deployment)).toBe(expected || status === 'deploying')
})

test.each([
  ['running', toInstances('draining'), true],
  ['running', toInstances('releasing', 'draining'), true],
  ['running', toInstances('running', 'draining'), false],
  ['running', [], false],
  ['terminating', toInstances('releasing'), false],
] as const)('%s with %j: falling asleep is %s', (status, instances, expected) => {
  const deployment = { status, waiting_for: 'release' as const, instances: [...instances] }
  expect(isFallingAsleep(deployment)).toBe(expected)
  expect(isInterrupted(deployment)).toBe(status === 'running' && !expected)
})
