import { expect, test } from 'vitest'
import type { DeploymentEvent } from '../../contract.ts'
import { findStartTime, mergeEvent } from './events.ts'

const event = (second: number, status: DeploymentEvent['status']): DeploymentEvent => ({
  id: second,
  at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
  status,
  stage: null,
  message: `message ${second}`,
  instance_type: null,
  transition: null,
})

const events = [event(0, 'requested'), event(1, 'provisioning'), event(9, 'deploying'), event(40, 'running')]

test('a known event is not added again; a new one is inserted in order', () => {
  const shuffled = [3, 3, 0, 1, 2, 0].map((index) => events[index] as DeploymentEvent)
  expect(shuffled.reduce<DeploymentEvent[]>(mergeEvent, [])).toEqual(events)
})

test('the start time is measured from the request, or the last wake, until the deployment runs', () => {
  expect(findStartTime(events)).toBe(40_000)
  expect(findStartTime(events.slice(0, -1))).toBeNull()
  expect(findStartTime([])).toBeNull()
  const slept = [...events, event(50, 'running'), event(55, 'sleeping'), event(100, 'provisioning')]
  expect(findStartTime(slept)).toBe(40_000)
  expect(findStartTime([...slept, event(104, 'running')])).toBe(4_000)
  const refused = [...slept, event(101, 'sleeping'), event(200, 'provisioning'), event(203, 'running')]
  expect(findStartTime(refused)).toBe(3_000)
})
