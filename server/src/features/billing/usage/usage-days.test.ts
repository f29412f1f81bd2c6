import { describe, expect, test } from 'vitest'
import { chooseUsageDays, toMoments } from './usage-days.ts'

const now = new Date('2026-03-15T23:59:59.999Z')
const periodStart = new Date('2026-03-04T10:00:00Z')
const choose = (from?: string, to?: string) => chooseUsageDays({ from, to }, periodStart, now)

describe('chooseUsageDays', () => {
  test.each([
    [undefined, undefined, '2026-03-04', '2026-03-15'],
    ['2026-03-10', undefined, '2026-03-10', '2026-03-15'],
    [undefined, '2026-03-10', '2026-03-04', '2026-03-10'],
    [undefined, '2026-02-10', '2026-02-10', '2026-02-10'],
    ['2026-03-15', '2026-03-15', '2026-03-15', '2026-03-15'],
    ['2025-12-14', '2026-03-15', '2025-12-14', '2026-03-15'],
    ['2027-01-01', '2027-01-02', '2027-01-01', '2027-01-02'],
  ])('%s to %s is %s to %s', (from, to, first, last) => {
    expect(choose(from, to)).toEqual({ from: first, to: last })
  })

  test.each([
    ['2026-03-16', undefined],
    ['2026-03-02', '2026-03-01'],
    ['2025-12-13', '2026-03-15'],
    [undefined, '2026-12-31'],
    ['0000-01-01', '9999-12-31'],
  ])('%s to %s is rejected', (from, to) => {
    expect(() => choose(from, to)).toThrow(expect.objectContaining({ code: 'invalid_date_range' }))
  })
})

test('toMoments: the last day is included', () => {
  expect(toMoments({ from: '2026-02-28', to: '2026-03-01' })).toEqual({
    from: new Date('2026-02-28T00:00:00Z'),
    to: new Date('2026-03-02T00:00:00Z'),
  })
})
