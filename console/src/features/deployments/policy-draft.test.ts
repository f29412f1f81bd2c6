import { expect, test } from 'vitest'
import { findErrors, toChange, toDraft } from './policy-draft.ts'

const policy = {
  min_instances: 1,
  max_instances: 3,
  idle_minutes: null,
  yields: false,
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
