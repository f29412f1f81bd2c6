import { expect, test } from 'vitest'
import { describeFacts, listFacts } from './describe-facts.ts'

test('details are in the words of the console, not of the database', () => {
  const details = {
    billing_mode: { from: 'trial', to: 'postpaid' },
    collection_method: { from: null, to: 'charge_automatically' },
    role: 'super_admin',
    auth_method: 'password',
    deployments: 'none',
    changed: ['first_name', 'email'],
  }
  expect(describeFacts(details)).toEqual([
    'Plan: Trial → Pay as you go',
    'Payment: none → Charge the card',
    'Role: Owner',
    'With: password',
    'Changed: first name, email',
  ])
})

test('unknown details are in words too', () => {
  const details = {
    min_context_tokens: { from: null, to: 8_192 },
    new_fact: { a_part: 1, another: ['b', 'c'] },
    enabled: { from: true, to: false },
  }
  expect(describeFacts(details)).toEqual([
    'Minimum context: none → 8192',
    'New fact: A part: 1, Another: b, c',
    'Enabled: yes → no',
  ])
})

test('the value before a change stands beside the one after it', () => {
  const details = {
    alias: null,
    min_context_tokens: 8_192,
    engine_options: { from: {}, to: { seed: 1 } },
    before: { alias: 'assistant', min_context_tokens: null, engine_options: {} },
  }
  expect(describeFacts(details)).toEqual([
    'Name: assistant → none',
    'Minimum context: none → 8192',
    'Engine options:  → Seed: 1',
  ])
})

test('only the open entry has ids', () => {
  const details = { scope: 'team', scope_id: 4 }
  expect(describeFacts(details)).toEqual(['Scope: team'])
  expect(listFacts(details)).toContainEqual({ name: 'Scope id', value: '4' })
  const nested = { team: { name: 'Research', team_id: 4 } }
  expect(listFacts(nested)).toEqual([{ name: 'Team', value: 'Name: Research, Team id: 4' }])
})
