import { expect, test } from 'vitest'
import { findScheduledMinimum, findScheduleError } from './schedules.ts'

const office = [
  { cron: '0 8 * * MON-FRI', timeZone: 'Europe/Berlin', minInstances: 2 },
  { cron: '0 18 * * MON-FRI', timeZone: 'Europe/Berlin', minInstances: 0 },
]
const at = (time: string) => new Date(time).getTime()

test('the schedule that began last is in effect until the next begins', () => {
  // Wednesday; Berlin is an hour ahead of UTC in winter
  const begin = at('2026-11-25T07:00:00Z')
  const end = at('2026-11-25T17:00:00Z')
  expect(findScheduledMinimum(office, begin - 1)).toEqual({ minInstances: 0, until: begin })
  expect(findScheduledMinimum(office, begin)).toEqual({ minInstances: 2, until: end })
  expect(findScheduledMinimum(office, end - 500)).toEqual({ minInstances: 2, until: end })
  expect(findScheduledMinimum(office, end)).toEqual({ minInstances: 0, until: begin + 86_400_000 })
})

test('a weekend keeps the schedule of Friday evening, and daylight saving time moves the hour', () => {
  const monday = at('2026-03-30T06:00:00Z')
  expect(findScheduledMinimum(office, at('2026-03-29T12:00:00Z'))).toEqual({ minInstances: 0, until: monday })
})

test('no schedule is in effect before the first one', () => {
  expect(findScheduledMinimum([], 0)).toEqual({ minInstances: null, until: Infinity })
})

test('of two schedules that begin together, the later one in the list counts', () => {
  const both = [
    { cron: '0 8 * * *', timeZone: 'UTC', minInstances: 1 },
    { cron: '0 8 * * *', timeZone: 'UTC', minInstances: 3 },
  ]
  expect(findScheduledMinimum(both, at('2026-11-25T09:00:00Z')).minInstances).toBe(3)
})

test('of two schedules that the change to summer time moves to one moment, the later on the clock counts', () => {
  const berlin = (...starts: [cron: string, minInstances: number][]) =>
    starts.map(([cron, minInstances]) => ({ cron, timeZone: 'Europe/Berlin', minInstances }))
  const afterwards = at('2027-03-28T12:00:00Z')
  const find = (...starts: [cron: string, minInstances: number][]) =>
    findScheduledMinimum(berlin(...starts), afterwards).minInstances
  expect(find(['0 3 * * *', 2], ['30 2 * * *', 0])).toBe(2)
  expect(find(['30 2 * * *', 0], ['0 3 * * *', 2])).toBe(2)
  expect(find(['50 2 * * *', 0], ['30 2 * * *', 2])).toBe(0)
  expect(find(['30 2 * * *', 2], ['50 2 * * *', 0])).toBe(0)
  expect(find(['30 2 * * *', 2], ['30 2 * * *', 1])).toBe(1)
})

test.for([
  ['0 8 * * MON-FRI', 'Europe/Berlin', null],
  ['*/5 * * * *', 'UTC', null],
  ['0 8 * *', 'UTC', 'cron'],
  ['0 0 8 * * *', 'UTC', 'cron'],
  ['60 8 * * *', 'UTC', 'cron'],
  ['@daily', 'UTC', 'cron'],
  ['2030-01-01T00:00:00', 'UTC', 'cron'],
  ['', 'UTC', 'cron'],
  [`${'1,'.repeat(60)}1 8 * * *`, 'UTC', 'cron'],
  ['0 0 30 2 *', 'UTC', 'never'],
  ['0 8 * * *', 'Mars/Olympus', 'time_zone'],
  ['0 8 * * *', '', 'time_zone'],
] as const)('the schedule %s in the time zone %s has the error %s', ([cron, timeZone, error]) => {
  expect(findScheduleError({ cron, timeZone })).toBe(error)
})
