import { expect, test } from 'vitest'
import type { Deployment } from '../../../contract.ts'
import { judgeAct } from './judge-act.ts'

const all = { change: true, terminate: true }
const viewer = { change: false, terminate: true }
const none = { change: false, terminate: false }

test.each([
  ['sleep', 'running', all, null],
  ['sleep', 'sleeping', all, 'asleep'],
  ['sleep', 'deploying', all, 'notRunning'],
  ['sleep', 'failed', all, 'ended'],
  ['sleep', 'running', viewer, 'role'],
  ['wake', 'sleeping', all, null],
  ['wake', 'running', all, 'awake'],
  ['wake', 'deploying', all, 'awake'],
  ['wake', 'sleeping', none, 'role'],
  ['terminate', 'running', all, null],
  ['terminate', 'running', viewer, null],
  ['terminate', 'running', none, 'role'],
  ['terminate', 'failed', all, null],
  ['terminate', 'terminating', all, 'ended'],
  ['terminate', 'terminated', none, 'ended'],
] as const)(
  '%s of one that is %s, with the access %j, is left out because: %s',
  (act, status, access, reason) => {
    expect(judgeAct(act, { status, instances: [] } as unknown as Deployment, access)).toBe(reason)
  },
)
