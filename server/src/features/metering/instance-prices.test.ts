import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { InstanceType } from '../../ports/model-runtime.ts'
import { findHourlyPrice, toInstancePrices } from './instance-prices.ts'
import type { Price } from '../../base/price.ts'

const now = new Date('2026-05-05T05:05:05Z')
const general = makePrice({}, '0.001')

function makePrice(dimensions: Record<string, string>, unitAmount: string): Price {
  const facts = { meter: 'gpu_instance_seconds', displayName: 'x', currency: 'usd' } as const
  return { ...facts, dimensions, unitAmount, validFrom: new Date(0), validUntil: null }
}

function makeType(name: string, pricePerHour: string): InstanceType {
  return {
    name,
    region: 'r',
    vendor: 'nvidia',
    gpuModel: 'g',
    gpuCount: 1,
    gpuMemoryBytes: 1,
    computeCapability: 9,
    pricePerHour,
    nodeSelector: {},
    tolerations: [],
  }
}

const l4 = toInstancePrices([makeType('l4', '0.80')], 'usd')

function hourOf(prices: Price[], instanceType = 'l4', at = now): string | null {
  return findHourlyPrice(prices, { instanceType, region: 'r' }, at)
}

test('an instance type in the file has the price of the file, any other type the default price', () => {
  expect(l4).toMatchObject([{ dimensions: { instance_type: 'l4' }, unitAmount: '0.000222222222' }])
  expect(hourOf([general, ...l4])).toBe('0.8')
  expect(hourOf([general, ...l4], 'other')).toBe('3.6')
})

test('a price file row that names the instance type takes precedence', () => {
  expect(hourOf([general, makePrice({ instance_type: 'l4' }, '0.0001'), ...l4])).toBe('0.36')
  expect(hourOf([general, ...l4, makePrice({ instance_type: 'l4', region: 'r' }, '0')])).toBe('0')
})

test('null when no price is valid', () => {
  expect(hourOf([], 'l4')).toBeNull()
  expect(hourOf([{ ...general, validFrom: new Date('2026-05-05T06:00:00Z') }])).toBeNull()
})

test('the hourly price equals the price in the file exactly, for any price', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 999_999_999_999_999n }), (millionths) => {
      const digits = String(millionths).padStart(7, '0')
      const price = `${digits.slice(0, -6)}.${digits.slice(-6)}`
      const shown = hourOf(toInstancePrices([makeType('l4', price)], 'usd'))
      expect(shown).toBe(price.replace(/\.?0+$/, ''))
    }),
  )
})
