import { expect, test } from 'vitest'
import { canTransition, deploymentStatuses, transitions } from './lifecycle.ts'

test('every status except the last two can move to terminating, and only terminating to terminated', () => {
  for (const status of deploymentStatuses) {
    expect(canTransition(status, 'terminating')).toBe(status !== 'terminating' && status !== 'terminated')
    expect(canTransition(status, 'terminated')).toBe(status === 'terminating')
  }
})

test('a deployment can fail from any status before terminating', () => {
  const failing = deploymentStatuses.filter((status) => canTransition(status, 'failed'))
  expect(failing).toEqual(['requested', 'provisioning', 'deploying', 'running'])
})

test('no status moves to itself or to requested, and each one leads to terminated', () => {
  for (const status of deploymentStatuses) {
    expect(canTransition(status, status)).toBe(false)
    expect(canTransition(status, 'requested')).toBe(false)
    const reached = new Set([status])
    for (const each of reached) for (const next of transitions[each]) reached.add(next)
    expect(reached).toContain('terminated')
  }
})
