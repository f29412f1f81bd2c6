import { expect, test } from 'vitest'
import { describeRule, toRules, toSchedules } from './schedules.ts'

const zone = 'Europe/Berlin'
const at = (cron: string, min_instances: number, time_zone = zone) => ({ cron, time_zone, min_instances })

test.each([
  [
    [at('0 8 * * MON-FRI', 2), at('0 18 * * 1-5', 0)],
    ['Keep 2 awake on weekdays from 08:00 to 18:00 (Europe/Berlin)'],
  ],
  [
    [at('30 20 * * *', 1), at('0 6 * * *', 0)],
    ['Keep 1 awake every day from 20:30 to 06:00 (Europe/Berlin)'],
  ],
  [
    [at('0 22 * * FRI', 1), at('0 2 * * sat', 0)],
    ['Keep 1 awake on Fri from 22:00 to 02:00 (Europe/Berlin)'],
  ],
  [
    [at('0 9 * * 6,7', 3), at('0 17 * * SAT,SUN', 0)],
    ['Keep 3 awake on weekends from 09:00 to 17:00 (Europe/Berlin)'],
  ],
  [
    [at('0 8 * * MON-FRI', 2), at('0 18 * * MON-THU', 0)],
    [
      'Keep 2 awake on weekdays from 08:00 (Europe/Berlin)',
      'Allow sleep on Mon to Thu from 18:00 (Europe/Berlin)',
    ],
  ],
  [
    [at('0 8 * * *', 2), at('0 18 * * *', 0, 'UTC')],
    ['Keep 2 awake every day from 08:00 (Europe/Berlin)', 'Allow sleep every day from 18:00 (UTC)'],
  ],
  [
    [at('0 8 * * *', 2), at('0 18 * * *', 1)],
    [
      'Keep 2 awake every day from 08:00 (Europe/Berlin)',
      'Keep 1 awake every day from 18:00 (Europe/Berlin)',
    ],
  ],
  [[at('*/5 8 1 * *', 2)], ['Keep 2 awake at */5 8 1 * * (Europe/Berlin)']],
  [[at('0 8 * * FRI-MON', 1)], ['Keep 1 awake at 0 8 * * FRI-MON (Europe/Berlin)']],
  [[at('0 24 * * *', 1)], ['Keep 1 awake at 0 24 * * * (Europe/Berlin)']],
  [[], []],
])('%j in words', (schedules, words) => {
  expect(toRules(schedules).map(describeRule)).toEqual(words)
})

test('hours become two schedules, and these the same hours again', () => {
  const hours = { kind: 'hours', timeZone: zone, instances: 2 } as const
  const rules = [
    { ...hours, days: [1, 2, 3, 4, 5], from: '08:00', until: '18:30' },
    { ...hours, days: [6, 0], from: '22:00', until: '02:00' },
    { kind: 'time', schedule: at('*/5 8 1 * *', 2) } as const,
    { ...hours, days: [1, 2, 3, 4, 5, 6, 0], from: '08:00', until: '08:00' },
  ]
  const schedules = toSchedules(rules)
  expect(schedules.map(({ cron }) => cron)).toEqual([
    '0 8 * * MON-FRI',
    '30 18 * * MON-FRI',
    '0 22 * * SAT,SUN',
    '0 2 * * MON,SUN',
    '*/5 8 1 * *',
    '0 8 * * *',
    '0 8 * * *',
  ])
  expect(schedules.map((schedule) => schedule.min_instances)).toEqual([2, 0, 2, 0, 2, 2, 0])
  expect(toSchedules(toRules(schedules))).toEqual(schedules)
})
