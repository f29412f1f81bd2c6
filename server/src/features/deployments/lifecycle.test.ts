import { expect, test } from 'vitest'
import { deploymentStatuses, mayBecome, transitions } from './lifecycle.ts'

test('every status but the last can be deleted, and only a release that was confirmed ends', () => {
  for (const status of deploymentStatuses) {
    expect(mayBecome(status, 'terminating')).toBe(status !== 'terminating' && status !== 'terminated')
    expect(mayBecome(status, 'terminated')).toBe(status === 'terminating')
  }
})

test('a deployment fails from any status before terminating', () => {
  const failing = deploymentStatuses.filter((status) => mayBecome(status, 'failed'))
  expect(failing).toEqual(['requested', 'provisioning', 'deploying', 'running'])
})

test('no status becomes itself, none becomes requested, and terminated is reached from each', () => {
  for (const status of deploymentStatuses) {
    expect(mayBecome(status, status)).toBe(false)
    expect(mayBecome(status, 'requested')).toBe(false)
    const reached = new Set([status])
    for (const each of reached) for (const next of transitions[each]) reached.add(next)
    expect(reached).toContain('terminated')
  }
})
