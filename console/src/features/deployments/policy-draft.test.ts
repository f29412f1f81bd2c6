import { expect, test } from 'vitest'
import type { Deployment } from '../../contract.ts'
import { findErrors, findShadowed, isValid, toChange, toDraft } from './policy-draft.ts'

const policy = {
  min_instances: 1,
  max_instances: 3,
  idle_minutes: null,
  yields: false,
  cache_scope: 'organization' as const,
  target_concurrency: null,
  schedules: [],
}
const draft = toDraft({ policy, alias: null })

test('an unchanged draft asks for the policy as it is', () => {
  expect(Object.values(findErrors(draft))).toEqual(Array(5).fill(undefined))
  expect(toChange(draft)).toEqual({
    min_instances: 1,
    max_instances: 3,
    idle_minutes: null,
    target_concurrency: null,
    alias: null,
    yields: false,
    cache_scope: 'organization',
    schedules: [],
  })
  expect(toChange({ ...draft, idleMinutes: ' 30 ', concurrency: '8', alias: ' team-chat ' })).toMatchObject({
    idle_minutes: 30,
    target_concurrency: 8,
    alias: 'team-chat',
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
  ['alias', 'two words'],
] as const)('%s %j is invalid', (name, value) => {
  expect(findErrors({ ...draft, [name]: value })[name]).toMatch(/^(Enter|Use) /)
})

test('the most is not less than the least', () => {
  const errors = findErrors({ ...draft, least: '3', most: '2' })
  expect(errors.least).toBeUndefined()
  expect(errors.most).toBe('Enter at least the least instances.')
})

const hours = [
  { cron: '0 8 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 2 },
  { cron: '0 18 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 0 },
]

test('schedules and yields are kept; hours within the most instances are valid', () => {
  const scheduled = toDraft({ policy: { ...policy, yields: true, schedules: hours }, alias: null })
  expect(isValid(scheduled)).toBe(true)
  expect(toChange(scheduled)).toMatchObject({ yields: true, schedules: hours })
  expect(isValid({ ...scheduled, most: '1' })).toBe(false)
  expect(toChange({ ...scheduled, rules: [] })).toMatchObject({ schedules: [] })
})

test('an alias shadows models of its name, and the same alias of others', () => {
  const make = (id: string, user_id: string, alias: string | null) =>
    ({ id, user_id, alias, model_name: 'tiny' }) as Deployment
  const own = make('1', 'me', 'chat')
  const callable = [own, make('2', 'me', 'chat'), make('3', 'you', 'chat'), make('4', 'you', null)]
  const list = (alias: string) => findShadowed(own, alias, callable).map(({ id }) => id)
  expect(list(' chat ')).toEqual(['3'])
  expect(list('tiny')).toEqual(['2', '3', '4'])
  expect(list('')).toEqual([])
})
