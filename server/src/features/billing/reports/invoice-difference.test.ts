import { expect, test } from 'vitest'
import { describeDifference } from './invoice-difference.ts'
import type { BilledUsage } from './invoice-difference.ts'

const unit = { priceKey: 'seconds', unitAmount: '0.0015' }

/** The difference between the ledger's `used` units and an invoice with `lines` of quantity and amount. */
function describe(used: string, lines: [string, string][], isFinal = true): string | null {
  const ours: BilledUsage[] = [{ ...unit, quantity: used }]
  return describeDifference(ours, {
    invoiceId: 'in_1',
    customerId: 'cus_1',
    isFinal,
    periodStart: new Date('2026-10-01T00:00:00Z'),
    periodEnd: new Date('2026-11-01T00:00:00Z'),
    lines: lines.map(([quantity, amount]) => ({ ...unit, quantity, amount })),
  })
}

test('a quantity may be less than a unit off, and the amount of a line half of the smallest unit of the currency', () => {
  // 1001 × 0.0015 = 1.5015; 1003 × 0.0015 = 1.5045; 30 × 0.0015 = 0.045.
  expect(describe('1001.9', [['1001', '1.50']])).toBeNull()
  expect(describe('1003', [['1003', '1.50']])).toBeNull()
  expect(describe('30', [['30', '0.05']])).toBeNull()
  expect(describe('30', [['30', '0.04']])).toBeNull()
  // Each line is rounded.
  expect(
    describe('60', [
      ['30', '0.05'],
      ['30', '0.05'],
    ]),
  ).toBeNull()
})

test('a difference names the price, the quantities or the amounts', () => {
  expect(describe('1002', [['1001', '1.50']])).toBe(
    'Invoice in_1 of 2026-10-01T00:00:00.000Z to 2026-11-01T00:00:00.000Z differs from the ledger: ' +
      '1002 units of seconds at 0.0015 were used, but 1001 are invoiced.',
  )
  expect(describe('30', [])).toContain('30 units of seconds at 0.0015 were used, but 0 are invoiced')
  expect(describe('30', [['30', '0.06']])).toContain(
    '30 units of seconds at 0.0015 cost 0.045, but 0.06 is invoiced.',
  )
  // A currency without decimals.
  expect(describe('1000', [['1000', '3']])).toContain('cost 1.5, but 3 is invoiced')
  expect(describe('1000', [['1000', '2']])).toBeNull()
})

test('the amount of a draft may be a whole smallest unit off', () => {
  expect(describe('1001', [['1001', '1.51']])).toContain('cost 1.5015, but 1.51 is invoiced')
  expect(describe('1001', [['1001', '1.51']], false)).toBeNull()
  expect(describe('1001', [['1001', '1.52']], false)).toContain('cost 1.5015, but 1.52 is on the draft')
})
