import { afterEach, expect, test, vi } from 'vitest'
import { findRuleError, hasRoom, listNextChanges, toRuleDrafts } from './schedule-draft.ts'
import type { RuleDraft } from './schedule-draft.ts'

const hours = {
  kind: 'hours',
  days: [1, 2, 3, 4, 5],
  from: '08:00',
  until: '18:00',
  timeZone: 'Europe/Berlin',
  instances: '2',
} as const
const time = { kind: 'time', cron: '0 8 1 * *', timeZone: 'UTC', instances: '0' } as const

afterEach(() => void vi.useRealTimers())

test.each<[RuleDraft, RegExp]>([
  [{ ...hours, days: [] }, /day/],
  [{ ...hours, until: '' }, /both times/],
  [{ ...hours, until: '08:00' }, /end/],
  [{ ...hours, instances: '0' }, /1 to 3/],
  [{ ...hours, instances: '4' }, /1 to 3/],
  [{ ...hours, instances: 'two' }, /1 to 3/],
  [{ ...time, instances: '' }, /0 to 3/],
  [{ ...time, cron: '0 8 * *' }, /five fields/],
  [{ ...time, cron: '0 8 30 2 *' }, /five fields/],
  [{ ...time, cron: '0 0 8 * * *' }, /five fields/],
  [{ ...time, cron: 'a b c d e' }, /five fields/],
])('%j is invalid', (rule, message) => expect(findRuleError(rule, 3)).toMatch(message))

test.each<RuleDraft>([hours, { ...hours, from: '22:00', until: '02:00', instances: ' 3 ' }, time])(
  '%j is valid',
  (rule) => expect(findRuleError(rule, 3)).toBeUndefined(),
)

test('ten schedules fit, and hours need two', () => {
  const nine = Array.from({ length: 9 }, () => time)
  expect([hasRoom(nine, 'time'), hasRoom(nine, 'hours')]).toEqual([true, false])
  const five = Array.from({ length: 5 }, () => hours)
  expect([hasRoom(five, 'time'), hasRoom(five.slice(1), 'hours')]).toEqual([false, true])
})

test('the next times follow daylight saving time and are in order', () => {
  vi.useFakeTimers({ now: new Date('2026-03-27T12:00:00Z') })
  const schedules = [
    { cron: '0 8 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 2 },
    { cron: '0 18 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 0 },
  ]
  expect(toRuleDrafts(schedules)).toEqual([hours])
  expect(listNextChanges(schedules, 3).map(({ at, instances }) => [at.toISOString(), instances])).toEqual([
    ['2026-03-27T17:00:00.000Z', 0],
    ['2026-03-30T06:00:00.000Z', 2],
    ['2026-03-30T16:00:00.000Z', 0],
  ])
})
