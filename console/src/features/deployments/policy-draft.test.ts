import { expect, test } from 'vitest'
import { findErrors, findReason, toChange, toDraft } from './policy-draft.ts'

const policy = {
  min_instances: 1,
  max_instances: 3,
  idle_minutes: null,
  yields: false,
  cache_scope: 'organization' as const,
  target_concurrency: null,
  schedules: [],
}
const draft = toDraft({ policy })

test('an unchanged draft asks for the policy as it is', () => {
  expect(Object.values(findErrors(draft))).toEqual(Array(4).fill(undefined))
  expect(toChange(draft)).toEqual({
    min_instances: 1,
    max_instances: 3,
    idle_minutes: null,
    target_concurrency: null,
    yields: false,
    cache_scope: 'organization',
    schedules: [],
  })
  expect(toChange({ ...draft, idleMinutes: ' 30 ', concurrency: '8' })).toMatchObject({
    idle_minutes: 30,
    target_concurrency: 8,
  })
})

test.each([
  ['idleMinutes', '0'],
  ['idleMinutes', '10081'],
  ['idleMinutes', 'soon'],
  ['least', ''],
  ['least', '101'],
  ['most', '0'],
  ['most', '1.5'],
  ['concurrency', '4097'],
] as const)('%s %j is invalid', (name, value) => {
  expect(findErrors({ ...draft, [name]: value })[name]).toMatch(/^Enter /)
})

test('the most is not less than the least', () => {
  const errors = findErrors({ ...draft, least: '3', most: '2' })
  expect(errors.least).toBeUndefined()
  expect(errors.most).toBe('At most must not be less than at least.')
})

const hours = [
  { cron: '0 8 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 2 },
  { cron: '0 18 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 0 },
]

test('schedules and yields are kept; hours within the most instances are valid', () => {
  const scheduled = toDraft({ policy: { ...policy, yields: true, schedules: hours } })
  expect(findReason(scheduled)).toBeUndefined()
  expect(toChange(scheduled)).toMatchObject({ yields: true, schedules: hours })
  expect(findReason({ ...scheduled, most: '1' })).toBe('Keep 1 awake.')
  expect(toChange({ ...scheduled, rules: [] })).toMatchObject({ schedules: [] })
})
