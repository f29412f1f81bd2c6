import { expect, test } from 'vitest'
import type { BillingAccount, BillingConfig } from '../../contract.ts'
import { expiryStatus } from './card.ts'
import { canActivate, findAccountProblem } from './account-problem.ts'

const features: BillingConfig['features'] = {
  processor: 'sandbox',
  postpaid: true,
  send_invoice: true,
  portal: true,
  trial: true,
}

function account(changes: Partial<BillingAccount>): BillingAccount {
  return {
    billing_mode: 'trial',
    status: 'active',
    subscription_status: 'none',
    trial_credit: { granted: '10', used: '1', remaining: '9' },
    ...changes,
  } as BillingAccount
}

const postpaid = { billing_mode: 'postpaid', trial_credit: null } as const

test.each([
  ['a trial with credit', {}, features, null, true],
  [
    'a trial without credit',
    { trial_credit: { granted: '10', used: '11', remaining: '0' } },
    features,
    'exhausted',
    true,
  ],
  ['a server without trials', { trial_credit: null }, { ...features, trial: false }, 'unactivated', true],
  ['a paying account', { ...postpaid, subscription_status: 'active' }, features, null, false],
  [
    'an account with a late payment',
    { ...postpaid, status: 'past_due', subscription_status: 'past_due' },
    features,
    'past_due',
    false,
  ],
  ['an ended subscription', { ...postpaid, subscription_status: 'canceled' }, features, 'ended', true],
  ['a suspended account', { status: 'suspended' }, features, 'suspended', false],
  ['a closed account', { status: 'closed' }, features, 'closed', false],
] as const)('%s', (_what, changes, features, problem, mayActivate) => {
  expect(findAccountProblem(account(changes), features)).toBe(problem)
  expect(canActivate(account(changes), features)).toBe(mayActivate)
})

test('a card is valid through the last day of its month', () => {
  const now = new Date(2026, 10, 30).getTime()
  expect(expiryStatus({ exp_month: 11, exp_year: 2026 }, now)).toBe('soon')
  expect(expiryStatus({ exp_month: 10, exp_year: 2026 }, now)).toBe('expired')
  expect(expiryStatus({ exp_month: 1, exp_year: 2027 }, now)).toBe('valid')
  expect(expiryStatus({ exp_month: 12, exp_year: 2026 }, now)).toBe('soon')
})
