import { expect, test } from 'vitest'
import { beginTransition } from '../state/event-transition.ts'
import type { EventTransition } from '../state/event-transition.ts'
import { measureSleep, measureStart } from './measure-transition.ts'

const start = Date.UTC(2026, 0, 1)
const after = (seconds: number) => new Date(start + seconds * 1000)

type Status = 'requested' | 'provisioning' | 'deploying' | 'running' | 'sleeping'

function event(
  seconds: number,
  status: Status,
  stage: string | null,
  transition: EventTransition | null = null,
) {
  return { at: after(seconds), status, stage, transition }
}

test('the time until the next event counts for the phase of an event', () => {
  const events = [
    event(0, 'requested', null),
    event(1, 'provisioning', 'instance_selection'),
    event(3, 'deploying', 'provisioning'),
    event(3.1, 'deploying', 'model_download'),
    event(13.1, 'deploying', 'model_download'),
    event(128.1, 'deploying', 'engine_startup'),
  ]
  expect(measureStart(events, after(140), false)).toMatchObject({
    type: 'start',
    cause: null,
    phases: [
      { phase: 'provisioning', seconds: 2 },
      { phase: 'download', seconds: 125 },
      { phase: 'start', seconds: 12 },
    ],
  })
})

test('a deployment with cached weights has no download; one that served before is restarted', () => {
  const events = [event(0, 'provisioning', 'instance_selection'), event(0.4, 'deploying', 'provisioning')]
  expect(measureStart(events, after(0.9), true)).toMatchObject({
    type: 'restart',
    phases: [
      { phase: 'provisioning', seconds: 0.4 },
      { phase: 'start', seconds: 0.5 },
    ],
  })
  expect(measureStart([], after(0), false).phases).toEqual([])
})

test('a wake has its cause, and earlier starts do not count', () => {
  const wake = beginTransition('wake', { cause: 'request', route: '/v1/embeddings' }, after(60), after(70))
  const first = [event(0, 'provisioning', null), event(5, 'deploying', null), event(9, 'running', null)]
  const second = [
    event(60, 'sleeping', null),
    event(70, 'provisioning', 'wake', wake),
    event(71, 'deploying', null),
  ]
  expect(measureStart([...first, ...second], after(74), true)).toEqual({
    type: 'wake',
    cause: 'request',
    route: '/v1/embeddings',
    user_id: null,
    idle_minutes: null,
    after_seconds: 10,
    phases: [
      { phase: 'provisioning', seconds: 1 },
      { phase: 'start', seconds: 3 },
    ],
  })
})

test('requests are finished from the beginning of a sleep until the release; a refused wake has none', () => {
  const times = { releasingAt: after(4), at: after(6) }
  const idle = beginTransition('sleep', { cause: 'idle', idle_minutes: 30 }, after(0), after(1))
  expect(measureSleep(idle, after(1), times).phases).toEqual([
    { phase: 'drain', seconds: 3 },
    { phase: 'release', seconds: 2 },
  ])
  const refused = beginTransition('sleep', { cause: 'refusal' }, null, after(4))
  expect(measureSleep(refused, after(4), times).phases).toEqual([{ phase: 'release', seconds: 2 }])
})
