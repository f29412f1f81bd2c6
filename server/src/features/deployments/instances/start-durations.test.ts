import { expect, test } from 'vitest'
import { describeStartDurations } from './start-durations.ts'

const start = Date.UTC(2026, 0, 1)

type Status = 'requested' | 'provisioning' | 'deploying' | 'running' | 'sleeping'

function event(seconds: number, status: Status, stage: string | null) {
  return { at: new Date(start + seconds * 1000), status, stage }
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
  expect(describeStartDurations(events, new Date(start + 140_000))).toBe(
    'Provisioning took 2.0 s, the download took 2 min 5 s, the start of the engine took 12 s.',
  )
})

test('a deployment with cached weights has no download', () => {
  const events = [event(0, 'provisioning', 'instance_selection'), event(0.4, 'deploying', 'provisioning')]
  expect(describeStartDurations(events, new Date(start + 900))).toBe(
    'Provisioning took 0.4 s, the start of the engine took 0.5 s.',
  )
  expect(describeStartDurations([], new Date(start))).toBe('')
})

test('earlier starts do not count', () => {
  const first = [event(0, 'provisioning', null), event(5, 'deploying', null), event(9, 'running', null)]
  const wake = [event(60, 'sleeping', null), event(70, 'provisioning', 'wake'), event(71, 'deploying', null)]
  expect(describeStartDurations([...first, ...wake], new Date(start + 74_000))).toBe(
    'Provisioning took 1.0 s, the start of the engine took 3.0 s.',
  )
  expect(describeStartDurations(first, new Date(start + 74_000))).toBe('')
})
