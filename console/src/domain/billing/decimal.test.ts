import { expect, test } from 'vitest'
import { multiplyDecimal, sumDecimals } from './decimal.ts'

test.each([
  [[], '0'],
  [['0.1', '0.2'], '0.3'],
  [['0.00001', '12', '0.5'], '12.50001'],
  [['-0.5', '0.25'], '-0.25'],
  [['9007199254740993', '0.000000000000000001'], '9007199254740993.000000000000000001'],
  [['1.50', '0.50'], '2'],
])('the sum of %j is %s', (decimals, sum) => {
  expect(sumDecimals(decimals)).toBe(sum)
})

test('multiplies a price per second by 3600 exactly', () => {
  expect(multiplyDecimal('0.00001', 3_600)).toBe('0.036')
  expect(multiplyDecimal('0.000336111', 3_600)).toBe('1.2099996')
  expect(multiplyDecimal('2', 1_000_000)).toBe('2000000')
})
