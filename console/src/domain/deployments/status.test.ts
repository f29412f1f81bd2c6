import { expect, test } from 'vitest'
import { isChanging, isInterrupted } from './status.ts'

test.each([
  ['running', null, false],
  ['running', 'resize', false],
  ['running', 'engine', true],
  ['running', 'stop', true],
  ['running', 'release', true],
  ['running', 'runtime', true],
  ['running', 'retry', true],
  ['deploying', 'engine', false],
  ['failed', 'retry', false],
] as const)('%s, waiting for %s: interrupted is %s', (status, waiting_for, expected) => {
  expect(isInterrupted({ status, waiting_for })).toBe(expected)
  expect(isChanging({ status, waiting_for })).toBe(expected || status === 'deploying')
})
