import { expect, test } from 'vitest'
import { anchorOf, periodEnd } from './periods.ts'

const at = (text: string) => Date.parse(text) / 1000

test.each([
  ['2026-01-31T10:00:00Z', '2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z'],
  ['2028-01-31T10:00:00Z', '2028-01-31T10:00:00Z', '2028-02-29T10:00:00Z'],
  ['2026-12-15T00:00:00Z', '2026-12-15T00:00:00Z', '2027-01-15T00:00:00Z'],
  ['2026-12-15T08:00:00Z', '2026-12-15T08:44:48Z', '2027-01-15T08:00:00Z'],
  ['2026-12-15T08:00:00Z', '2026-12-15T07:59:59Z', '2026-12-15T08:00:00Z'],
  ['2026-05-31T23:59:59Z', '2026-06-30T23:59:58Z', '2026-06-30T23:59:59Z'],
])('anchored at %s, the period from %s ends at %s', (anchor, start, expected) => {
  expect(periodEnd(anchorOf(at(anchor)), at(start))).toBe(at(expected))
})

test('periods follow each other without a gap and come back to the anchor’s day', () => {
  const anchor = at('2026-01-31T10:00:00Z')
  const ends: string[] = []
  for (let start = anchor; ends.length < 4;) {
    start = periodEnd(anchorOf(anchor), start)
    ends.push(new Date(start * 1000).toISOString().slice(0, 10))
  }
  expect(ends).toEqual(['2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31'])
})
