import { expect, test } from 'vitest'
import type { InstanceStatus } from '../state/instance-lifecycle.ts'
import { planInstances } from './plan-instances.ts'

type Target = Parameters<typeof planInstances>[0]

const awake = {
  desired_state: 'awake',
  failure_reason: null,
  refusals: 0,
  min_context_tokens: 8_192,
  min_parallel_sequences: null,
  adapters: [],
  engine_options: {},
  engine_version: null,
} satisfies Target
const asleep = { ...awake, desired_state: 'asleep' } satisfies Target
const nothing = { start: 0, keep: [], drain: [], release: [] }

/** Instances with these statuses, whose ids are their places */
const members = (...statuses: InstanceStatus[]) =>
  statuses.map((status, index) => ({
    id: String(index),
    status,
    context_tokens: 8_192,
    parallel_sequences: 4,
    adapters: [],
    engine_settings: null,
  }))

test.each([
  ['none yet', awake, 1, members(), { start: 1 }],
  ['one starts', awake, 1, members('requested'), {}],
  ['one is released, another is desired', awake, 1, members('releasing'), { start: 1 }],
  ['one serves, three are desired', awake, 3, members('running', 'deploying'), { start: 1 }],
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
    { ...awake, desired_state: 'ended' } as const,
    1,
    members('running', 'draining'),
    { release: ['0', '1'] },
  ],
  ['failed', { ...awake, failure_reason: 'x: y' }, 1, members('running', 'releasing'), { release: ['0'] }],
])('%s', (_name, deployment, count, instances, expected) => {
  expect(planInstances(deployment, count, instances)).toEqual({ ...nothing, ...expected })
})

/** The same instances with less than the minimum */
const small = (...statuses: InstanceStatus[]) =>
  members(...statuses).map((member) => ({ ...member, id: `small ${member.id}`, context_tokens: 4_096 }))

test.each([
  ['one is started', awake, 1, small('running'), { start: 1 }],
  ['one starts', awake, 1, [...small('running'), ...members('deploying')], {}],
  [
    'one serves: the small one drains',
    awake,
    1,
    [...small('running'), ...members('running')],
    { drain: ['small 0'] },
  ],
  ['the small one drains', awake, 1, [...small('draining'), ...members('running')], {}],
  ['only one of several is started', awake, 3, small('running', 'running', 'running'), { start: 1 }],
  [
    'the next follows when the last one is done',
    awake,
    2,
    [...small('running'), ...members('running')],
    { start: 1 },
  ],
  [
    'fewer are desired: the small one leaves',
    awake,
    1,
    [...members('running'), ...small('running')],
    { drain: ['small 0'] },
  ],
  ['the hardware was refused', { ...awake, refusals: 1 }, 1, small('running'), {}],
  [
    'the minimum is lowered meanwhile',
    { ...awake, min_context_tokens: 4_096 },
    1,
    [...small('running'), ...members('deploying')],
    { release: ['0'] },
  ],
  ['asleep', asleep, 1, small('running'), { drain: ['small 0'] }],
])('a replacement of too small instances: %s', (_name, deployment, count, instances, expected) => {
  expect(planInstances(deployment, count, instances)).toEqual({ ...nothing, ...expected })
})

test.each([
  ['other options', { engine_options: { seed: 1 } }, { start: 1 }],
  ['another version', { engine_version: '2' }, { start: 1 }],
  ['the same options and version', { engine_options: {}, engine_version: '1' }, {}],
  ['any version', { engine_options: {}, engine_version: null }, {}],
])('an instance that has %s', (_name, asked, expected) => {
  const settings = { min_context_tokens: null, min_parallel_sequences: null, adapters: [] }
  const [instance] = members('running')
  const running = { ...instance!, engine_settings: { ...settings, engine_options: {}, engine_version: '1' } }
  expect(planInstances({ ...awake, ...asked }, 1, [running])).toEqual({ ...nothing, ...expected })
})
