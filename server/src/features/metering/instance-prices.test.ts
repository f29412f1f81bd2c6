import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Exact } from '../../base/decimal.ts'
import type { InstanceType } from '../../ports/model-runtime.ts'
import { findHourlyPrice, toInstancePrices } from './instance-prices.ts'
import { findPrice } from './prices.ts'
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

describe('shares of a GPU', () => {
  test('a share has its part of the price of the GPU', () => {
    expect(hourOf([general, ...l4], 'l4/4')).toBe('0.2')
    expect(hourOf([general, ...l4], 'l4/3')).toBe('0.26666666')
    expect(hourOf([general], 'other/2')).toBe('1.8')
    expect(hourOf([general, ...l4, makePrice({ instance_type: 'l4', region: 'r' }, '0')], 'l4/4')).toBe('0')
  })

  test('a name that is no share has its own price', () => {
    for (const name of ['l4/1', 'l4/17', 'l4/04', 'l4/2/2', '/2']) {
      expect(hourOf([general, ...l4], name)).toBe('3.6')
    }
  })

  test('a row that names a share can make it cheaper, but not more expensive than its part', () => {
    const named = (amount: string) => [general, ...l4, makePrice({ instance_type: 'l4/4' }, amount)]
    expect(hourOf(named('0.00001'), 'l4/4')).toBe('0.036')
    expect(hourOf(named('0.0001'), 'l4/4')).toBe('0.2')
  })

  test('the shares of a GPU never cost more than the GPU, and barely less, for any price', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 15n }).map((digits) => {
      const text = String(digits).padStart(13, '0')
      return `${text.slice(0, -12)}.${text.slice(-12)}`
    })
    fc.assert(
      fc.property(amount, fc.integer({ min: 2, max: 16 }), (unitAmount, parts) => {
        const prices = [makePrice({ instance_type: 'l4' }, unitAmount)]
        const unitOf = (instance_type: string) =>
          new Exact(
            findPrice(prices, 'gpu_instance_seconds', { instance_type, region: 'r' }, now).unit!.amount,
          )
        const [whole, shares] = [unitOf('l4'), unitOf(`l4/${parts}`).times(parts)]
        expect(shares.lte(whole) && whole.minus(shares).lt('0.000000000016')).toBe(true)
        expect(new Exact(hourOf(prices, `l4/${parts}`)!).times(parts).lte(hourOf(prices)!)).toBe(true)
      }),
    )
  })

  test('its line on the bill names the share', () => {
    const gpu = { ...makePrice({ instance_type: 'l4' }, '1'), displayName: 'Our GPU' }
    const nameOf = (prices: Price[]) =>
      findPrice(prices, 'gpu_instance_seconds', { instance_type: 'l4/4', region: 'r' }, now).displayName
    expect(nameOf([gpu])).toBe('Our GPU (1/4)')
    expect(nameOf(l4)).toBe('l4/4 in r')
  })
})
