import { expect, test } from 'vitest'
import { daysBefore, isCompared, matchPreset, lastDays, listDays } from './range.ts'

const now = Date.parse('2026-03-02T23:59:59Z')

test('the last days end today and have the requested length', () => {
  expect(lastDays(7, now)).toEqual({ from: '2026-02-24', to: '2026-03-02' })
  expect(listDays(lastDays(30, now))).toHaveLength(30)
  expect(listDays(lastDays(1, now))).toEqual(['2026-03-02'])
})

test('the range in the URL selects the matching option', () => {
  expect(matchPreset({}, now)).toBe('period')
  expect(matchPreset(lastDays(90, now), now)).toBe('90')
  expect(matchPreset({ from: '2026-02-24' }, now)).toBe('custom')
  expect(matchPreset({ from: '2026-02-24', to: '2026-03-01' }, now)).toBe('custom')
})

test('as many days right before a range are compared with the last days', () => {
  expect(daysBefore(lastDays(7, now))).toEqual({ from: '2026-02-17', to: '2026-02-23' })
  expect([lastDays(7), lastDays(30), lastDays(90), {}].map(isCompared)).toEqual([true, true, false, false])
})

test('an invalid range has no days', () => {
  expect(listDays({ from: '2026-03-02', to: '2026-03-01' })).toEqual([])
  expect(listDays({ from: 'soon', to: '2026-03-01' })).toEqual([])
})
