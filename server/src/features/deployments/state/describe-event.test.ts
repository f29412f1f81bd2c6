import { expect, test } from 'vitest'
import { describeEvent } from './describe-event.ts'
import { beginTransition } from './event-transition.ts'
import type { EventTransition, TransitionOrigin } from './event-transition.ts'

const at = new Date('2026-01-01T12:00:00Z')
const ago = (minutes: number) => new Date(at.getTime() - minutes * 60_000)
const wake = (origin: TransitionOrigin, since: Date | null = ago(42)) =>
  beginTransition('wake', origin, since, at)
const sleep = (origin: TransitionOrigin) => beginTransition('sleep', origin, ago(5), at)
const end = (transition: EventTransition, phases: EventTransition['phases']) => ({ ...transition, phases })

test.each([
  [wake({ cause: 'request', route: '/v1/chat/completions' }), 'Woken by a chat request after 42 minutes.'],
  [wake({ cause: 'request', route: '/v1/messages' }, ago(1)), 'Woken by a chat request after 1 minute.'],
  [wake({ cause: 'request', route: '/tokenize' }), 'Woken by a request after 42 minutes.'],
  [wake({ cause: 'schedule' }, ago(0)), 'Woken by a schedule after less than a minute.'],
  [wake({ cause: 'person', user_id: 1 }, null), 'Woken by Ada before it was asleep.'],
  [sleep({ cause: 'person', user_id: 1 }), 'Put to sleep by Ada.'],
  [sleep({ cause: 'idle', idle_minutes: 30 }), 'Falls asleep after 30 minutes without requests.'],
  [sleep({ cause: 'budget' }), 'Falls asleep because a budget is exhausted.'],
  [sleep({ cause: 'yield' }), 'Falls asleep because another deployment needs its hardware.'],
  [sleep({ cause: 'refusal' }), 'Stored.'],
  [
    end(wake({ cause: 'schedule' }), [
      { phase: 'provisioning', seconds: 0.42 },
      { phase: 'download', seconds: 35.2 },
      { phase: 'start', seconds: 125 },
    ]),
    'The model is awake and ready for requests. Provisioning took 0.4 s, the download took 35 s, the start of the engine took 2 min 5 s.',
  ],
  [
    end(sleep({ cause: 'budget' }), [
      { phase: 'drain', seconds: 3 },
      { phase: 'release', seconds: 0.2 },
    ]),
    'Stored. Finishing requests took 3.0 s, the release took 0.2 s.',
  ],
])('%o', (transition, message) => {
  expect(describeEvent({ message: 'Stored.', transition, by: 'Ada' })).toBe(message)
})

test('an event without a transition has its own message; a deleted account has no name', () => {
  expect(describeEvent({ message: 'Stored.', transition: null, by: null })).toBe('Stored.')
  const transition = sleep({ cause: 'person', user_id: 1 })
  expect(describeEvent({ message: '', transition, by: null })).toBe('Put to sleep by a former member.')
})
