import { expect, test } from 'vitest'
import { explainBlock } from './budget-limits.ts'
import { forecastSpending, isExhausted, listReachedPercents, toReadableAmount } from './standing.ts'
import type { Budget } from './store.ts'

const day = 24 * 3_600_000

function makeBudget(monthlyLimit: string): Budget {
  const at = new Date(0)
  const scope = { scope: 'organization', team_id: null, user_id: null, deployment_id: null } as const
  const terms = { monthly_limit: monthlyLimit, at_limit: 'block', exhausted_until: null } as const
  return { id: 1, organization_id: 1, managed_by: null, ...scope, ...terms, created_at: at, updated_at: at }
}

function makeStanding(spent: string, limit = '10.000000') {
  const periodEnd = new Date('2026-02-01T00:00:00Z')
  return { budget: makeBudget(limit), spent, pending: '0', periodEnd }
}

test.each([
  ['0', []],
  ['4.999999999999999', []],
  ['5', [50]],
  ['8', [50, 80]],
  ['9.999999999999999999', [50, 80]],
  ['10', [50, 80, 100]],
  ['99', [50, 80, 100]],
])('%s of 10 reaches the percentages %j', (spent, percents) => {
  expect(listReachedPercents(spent, '10.000000')).toEqual(percents)
})

test.each([
  ['1.5', '24', 2 * day, '49.5'],
  ['0.000000000001', '0', day, '0.000000000001'],
  ['7', '24', 0, '7'],
  ['7', '24', -day, '7'],
  ['0', '1', day / 3, '0.333333'],
])('forecast: %s, %s a day, %d ms left is %s', (spent, lastDay, rest, forecast) => {
  expect(forecastSpending(spent, lastDay, rest)).toBe(forecast)
})

test('a budget is exhausted at its limit, to the last decimal', () => {
  expect(isExhausted(makeStanding('9.999999999999999999'))).toBe(false)
  expect(isExhausted(makeStanding('10'))).toBe(true)
})

test('what would pass the limit within one minute is not started', () => {
  expect(explainBlock(makeStanding('9.94'), '3.6', 'usd')).toBeNull()
  expect(explainBlock(makeStanding('9.95'), '3.6', 'usd')).toBe(
    'The budget of the organization is almost exhausted: 9.95 USD of 10 USD are spent, and within a minute this start would pass the limit by 0.01 USD. Raise the limit, or wait for the next billing period, which begins on 2026-02-01.',
  )
  expect(explainBlock(makeStanding('9.9'), '7.2', 'usd')).toContain('by 0.02 USD')
  expect(explainBlock({ ...makeStanding('5'), pending: '5' }, '3.6', 'usd')).toContain('by 0.06 USD')
})

test('an exhausted budget says by how much its limit was passed', () => {
  expect(explainBlock(makeStanding('10.000000000001'), '0', 'usd')).toContain(
    'is exhausted: 10 USD of 10 USD are spent, 0.000000000001 USD more than its limit.',
  )
  expect(explainBlock(makeStanding('10'), '0', 'usd')).toContain('10 USD of 10 USD are spent. Raise')
})

test('amounts for people have two decimals, or as many as six significant digits need', () => {
  expect(toReadableAmount('10.123456789', 'usd')).toBe('10.1235 USD')
  expect(toReadableAmount('1234567.891', 'eur')).toBe('1234567.89 EUR')
  expect(toReadableAmount('0.000000123456789', 'usd')).toBe('0.000000123457 USD')
})
