import { expect, test } from 'vitest'
import type { InstanceStatus } from './instances/lifecycle.ts'
import { planInstances } from './plan-instances.ts'

const awake = { wanted: 'awake', failure_reason: null } as const
const asleep = { ...awake, wanted: 'asleep' } as const
const nothing = { start: 0, keep: [], drain: [], release: [] }

/** Instances with these statuses, whose ids are their places */
const members = (...statuses: InstanceStatus[]) =>
  statuses.map((status, index) => ({ id: String(index), status }))

test.each([
  ['none yet', awake, 1, members(), { start: 1 }],
  ['one starts', awake, 1, members('requested'), {}],
  ['one is released, another is wanted', awake, 1, members('releasing'), { start: 1 }],
  ['one serves, three are wanted', awake, 3, members('running', 'deploying'), { start: 1 }],
  ['too many: the newest drains', awake, 1, members('running', 'running'), { drain: ['1'] }],
  [
    'enough serve: one that starts is released',
    awake,
    1,
    members('running', 'deploying'),
    { release: ['1'] },
  ],
  ['asleep', asleep, 2, members('running', 'provisioning'), { drain: ['0'], release: ['1'] }],
  ['asleep, draining already', asleep, 1, members('draining', 'releasing'), {}],
  ['awake again before the release', awake, 1, members('draining'), { keep: ['0'] }],
  [
    'ended',
    { ...awake, wanted: 'ended' } as const,
    1,
    members('running', 'draining'),
    { release: ['0', '1'] },
  ],
  ['failed', { ...awake, failure_reason: 'x: y' }, 1, members('running', 'releasing'), { release: ['0'] }],
])('%s', (_name, deployment, count, instances, expected) => {
  expect(planInstances(deployment, count, instances)).toEqual({ ...nothing, ...expected })
})
