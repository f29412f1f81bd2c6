import { expect, test } from 'vitest'
import { sanitizeDeliveryError } from './sanitize-delivery-error.ts'

const token = 'Zm9v-YmFy_'.repeat(5).slice(0, 43)

test.each([
  ['550 5.1.1 no such user <ada@example.com>', '550 5.1.1 no such user <ada@example.com>'],
  ['451 4.3.0 first line\r\n451 second\tline\0', '451 4.3.0 first line 451 second line'],
  [`554 spam: http://localhost:8080/reset-password?token=${token} listed`, '554 spam: [link] listed'],
  [`554 spam: "https://berth.example.com/invitations/${token}"`, '554 spam: [link]'],
  [`554 blocked by the rule token=${token}.`, '554 blocked by the rule token=[…].'],
  ['a lone surrogate \ud800', 'a lone surrogate \ufffd'],
])('%j becomes %j', (reason, kept) => {
  expect(sanitizeDeliveryError(reason)).toBe(kept)
})

test('a long error is cut to 500 characters without splitting one', () => {
  const kept = sanitizeDeliveryError('🙂 '.repeat(1_000))
  expect(Array.from(kept)).toHaveLength(500)
  expect(kept.isWellFormed()).toBe(true)
  expect(kept.endsWith('…')).toBe(true)
})
