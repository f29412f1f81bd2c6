import { expect, test } from 'vitest'
import { compareRecords } from './compare.ts'
import type { Holding } from './hardware.ts'
import type { Action, Event, Records, Span } from './records.ts'

const seconds = (count: number) => count * 1_000
const deploymentId = 'd'
const usage = { requests: 1, inputTokens: 7, outputTokens: 5 }
const policy = {
  min_instances: 1,
  max_instances: 1,
  idle_minutes: null,
  yields: false,
  target_concurrency: 1,
}

function hold(changes: Partial<Holding>): Holding {
  return {
    engineId: 'e',
    deploymentId,
    slot: 'slot-1',
    instanceType: 'small',
    from: seconds(10),
    readyAt: seconds(12),
    starts: 1,
    needlessStops: 0,
    outages: [],
    served: usage,
    returnedAt: seconds(50),
    until: seconds(51),
    ...changes,
  }
}

function bill(changes: Partial<Span>): Span {
  const span = { engineId: 'e', deploymentId, slot: 'slot-1', instanceType: 'small', isBilled: true }
  return { ...span, from: seconds(10), to: seconds(51), ...changes }
}

function record(changes: Partial<Event>): Event {
  return { deploymentId, at: 0, status: 'running', stage: null, message: '', begunByPerson: null, ...changes }
}

const act = (action: string, at = 0, most: number | null = null): Action => ({
  deploymentId,
  action,
  at,
  most,
})
const actions = ['created', 'changed', 'terminated'].map((each) => act(`deployment.${each}`))
const other = { engineId: 'f', deploymentId: 'g' }

const idle = { engineId: 'f', served: { requests: 0, inputTokens: 0, outputTokens: 0 } }

/** One engine that served one request of a deployment, whose policy was acknowledged. */
interface Play {
  holdings: Holding[]
  kills: number[]
  clock: number
  records: Partial<Records>
}

function compare({ holdings = [hold({})], kills = [], clock = 0, records = {} }: Partial<Play>): string[] {
  const owned = {
    deletedFrom: Infinity,
    deletedUntil: Infinity,
    policy,
    sent: new Map([['deployment.updated', 1]]),
  }
  const deployments = new Map([[deploymentId, owned]])
  const asked = [{ deploymentId, outcome: '', usage }]
  const agreed: Records = {
    spans: [bill({})],
    events: [],
    actions,
    metered: new Map([[deploymentId, usage]]),
    policies: new Map([[deploymentId, policy]]),
  }
  return compareRecords(
    [{ seed: 1, organizationId: 1, deployments, asked, blocked: [{ from: seconds(5), until: seconds(15) }] }],
    holdings,
    { ...agreed, ...records },
    { delay: seconds(2), clock, workerKills: kills },
  )
}

test.each<[string, Partial<Play>, string | null]>([
  ['agrees', {}, null],
  ['a worker that is slow', { records: { spans: [bill({ to: seconds(52) })] } }, null],
  ['a span that ends late', { records: { spans: [bill({ to: seconds(54) })] } }, 'but is billed for slot-1'],
  [
    'a worker that was killed',
    { records: { spans: [bill({ to: seconds(60) })] }, kills: [seconds(51)] },
    null,
  ],
  [
    'a span that starts late',
    { records: { spans: [bill({ from: seconds(11) })] } },
    'but is billed for slot-1',
  ],
  ['no span', { records: { spans: [] } }, 'is not billed'],
  [
    'two payers',
    { records: { spans: [bill({}), bill({ ...other, from: seconds(50), to: seconds(70) })] } },
    'slot-1 is billed twice for 1000 ms',
  ],
  [
    'a bill for the whole of a half',
    { holdings: [hold({ instanceType: 'small/2' })] },
    'but is billed for slot-1',
  ],
  [
    'payers of both halves',
    {
      holdings: [hold({ slot: 'slot-1/1' }), hold({ ...idle, deploymentId: 'g', slot: 'slot-1/2' })],
      records: { spans: [bill({ slot: 'slot-1/1' }), bill({ ...other, slot: 'slot-1/2' })] },
    },
    null,
  ],
  [
    'a payer of the whole beside one of a half',
    {
      records: {
        spans: [bill({}), bill({ ...other, slot: 'slot-1/2', from: seconds(50), to: seconds(70) })],
      },
    },
    'slot-1/2 is billed twice for 1000 ms',
  ],
  [
    'two holdings that wrong clocks record in reverse',
    {
      holdings: [hold({ ...idle, from: seconds(5), returnedAt: seconds(7), until: seconds(8) }), hold({})],
      clock: seconds(8),
      records: {
        spans: [
          bill({ engineId: 'f', from: seconds(12), to: seconds(15) }),
          bill({ from: seconds(6), to: seconds(50) }),
        ],
      },
    },
    null,
  ],
  [
    'an instance too many',
    {
      holdings: [
        hold({}),
        hold({ engineId: 'f', slot: 'slot-2', from: seconds(20), served: { ...usage, requests: 0 } }),
      ],
    },
    'f was one too many',
  ],
  [
    'two instances before the policy allows one',
    {
      holdings: [hold({}), hold({ engineId: 'f', slot: 'slot-2', from: seconds(20) })],
      records: {
        actions: [
          ...actions,
          act('deployment.updated', seconds(1), 2),
          act('deployment.updated', seconds(17), 1),
        ],
      },
    },
    'f was one too many',
  ],
  [
    'billed sleep',
    { records: { events: [record({ at: seconds(40), status: 'sleeping' })] } },
    'during sleep',
  ],
  ['a double wake', { records: { events: [record({ at: seconds(30), stage: 'wake' })] } }, 'was woken twice'],
  [
    'a wake over a budget',
    { records: { events: [record({ stage: 'sleep' }), record({ at: seconds(10), stage: 'wake' })] } },
    'although a budget was exhausted',
  ],
  [
    'a lost change',
    { records: { policies: new Map([[deploymentId, { ...policy, yields: true }]]) } },
    'was acknowledged',
  ],
  [
    'two terminations',
    { records: { actions: [...actions, act('deployment.terminated')] } },
    'is recorded 2 times',
  ],
  [
    'a sleep without its action',
    { records: { events: [record({ begunByPerson: 'sleep' })] } },
    'put_to_sleep is recorded 0',
  ],
  [
    'a wrong token',
    { records: { metered: new Map([[deploymentId, { ...usage, outputTokens: 6 }]]) } },
    'metered 1/7/6',
  ],
  ['an answer that is not metered', { records: { metered: new Map() } }, 'metered 0/0/0'],
  [
    'a request that was served twice',
    { holdings: [hold({ served: { ...usage, requests: 2 } })] },
    'served 2/7/5',
  ],
  ['a start without a death', { holdings: [hold({ starts: 2 })] }, 'was started 2 times'],
  ['a stop of a working engine', { holdings: [hold({ needlessStops: 1 })] }, 'was stopped while it worked'],
])('random histories: %s', (_name, play, difference) => {
  const found = compare(play)
  if (difference === null) expect(found).toEqual([])
  else expect(found).toContainEqual(expect.stringContaining(difference))
})
