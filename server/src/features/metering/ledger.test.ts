import { describe, expect, test } from 'vitest'
import { add, formatDecimal, fromThousandths, multiply } from '../../base/decimal.ts'
import { cutIntoHours, planSettlement, planUsageEvents, toSpanEnd, toSpanStart } from './ledger.ts'
import type { InstanceSpan, OpenLedger, PriceFinder } from './ledger.ts'
import { toPriceKey } from '../../base/meters.ts'

const at = (text: string) => new Date(`2026-01-31T${text}Z`)
const epoch = new Date(0)
const price = {
  priceKey: 'key',
  serviceKey: 'compute',
  displayName: 'Instance',
  validFrom: null,
  validUntil: null,
}
const priced: PriceFinder = () => ({ ...price, unit: { amount: '1', currency: 'usd' } })

function span(startedAt: string, endedAt: string | null): InstanceSpan {
  return {
    deploymentId: 'one',
    instanceType: 'small',
    region: 'here',
    startedAt: at(startedAt),
    endedAt: endedAt === null ? null : at(endedAt),
  }
}

describe('planSettlement', () => {
  const open: OpenLedger = {
    sealedThrough: epoch,
    chargedSince: null,
    spans: [],
    tokens: [],
    undecidedSince: null,
  }
  const settle = (ledger: Partial<OpenLedger>, now: Date) =>
    planSettlement({ ...open, ...ledger }, now, priced)

  test('sums a deployment’s spans in an hour and counts open spans up to now', () => {
    const { buckets } = settle(
      { spans: [span('10:00:00.001', '10:10:00'), span('10:20:00', null)] },
      at('11:00:00.002'),
    )
    expect(buckets.map(({ hour, thousandths }) => [hour, thousandths])).toEqual([
      [at('10:00:00'), 599_999 + 2_400_000],
      [at('11:00:00'), 2],
    ])
  })

  test('cuts the hour in which charging began, to the millisecond', () => {
    const { buckets } = settle(
      { chargedSince: at('10:20:00.250'), spans: [span('09:30:00', '11:00:01')] },
      at('12:00:00'),
    )
    expect(
      buckets.map(({ hour, beforeCharging, thousandths }) => [hour, beforeCharging, thousandths]),
    ).toEqual([
      [at('09:00:00'), false, 1_800_000],
      [at('10:00:00'), true, 1_200_250],
      [at('10:00:00'), false, 2_399_750],
      [at('11:00:00'), false, 1000],
    ])
  })

  test('bills cached tokens once, as what they are', () => {
    const counted = { deploymentId: 'one', modelName: 'm', hour: epoch, beforeCharging: false, lateFor: null }
    const tokens = [{ ...counted, inputTokens: 10, outputTokens: 3, cachedTokens: 4 }]
    const { buckets } = settle({ tokens }, at('11:00:00'))
    expect(buckets.map(({ meter, thousandths }) => [meter, thousandths])).toEqual([
      ['inference_input_tokens', 6_000],
      ['inference_cached_tokens', 4_000],
      ['inference_output_tokens', 3_000],
    ])
  })

  test('seals only hours before undecided usage', () => {
    expect(settle({}, at('12:14:59.999')).sealedThrough).toEqual(at('11:00:00'))
    expect(settle({}, at('12:15:00')).sealedThrough).toEqual(at('12:00:00'))
    expect(settle({ undecidedSince: at('09:59:00') }, at('12:15:00')).sealedThrough).toEqual(at('09:00:00'))
  })

  test('seals only hours before a missing price', () => {
    const unpriced: PriceFinder = (_meter, _dimensions, hour) => ({
      ...price,
      unit: hour < at('09:00:00') ? { amount: '1', currency: 'usd' } : null,
    })
    const ledger = { ...open, spans: [span('08:30:00', '09:30:00')] }
    const { buckets, sealedThrough } = planSettlement(ledger, at('20:00:00'), unpriced)
    expect(buckets).toHaveLength(2)
    expect(sealedThrough).toEqual(at('09:00:00'))
  })

  test('never moves the watermark back and never changes sealed hours', () => {
    const plan = settle(
      { sealedThrough: at('12:00:00'), spans: [span('10:00:00', '12:00:01')] },
      at('09:00:00'),
    )
    expect(plan.sealedThrough).toEqual(at('12:00:00'))
    expect(plan.buckets.map(({ thousandths }) => thousandths)).toEqual([1_000])
  })
})

test('cutIntoHours: an empty or negative interval yields nothing', () => {
  expect([...cutIntoHours(at('10:00:00'), at('10:00:00'))]).toEqual([])
  expect([...cutIntoHours(at('10:00:00'), at('09:00:00'))]).toEqual([])
})

test('toSpanStart: not after now, not before the request, not in a sealed hour', () => {
  const facts = { requestedAt: at('10:00:00'), now: at('10:30:00'), sealedThrough: at('09:00:00') }
  expect(toSpanStart(at('10:10:00'), facts)).toEqual(at('10:10:00'))
  expect(toSpanStart(at('10:40:00'), facts)).toEqual(at('10:30:00'))
  expect(toSpanStart(at('09:50:00'), facts)).toEqual(at('10:00:00'))
  expect(toSpanStart(at('10:10:00'), { ...facts, sealedThrough: at('11:00:00') })).toEqual(at('11:00:00'))
})

test('toSpanEnd: not before the start, not in a sealed hour', () => {
  expect(toSpanEnd(at('11:00:00'), at('10:00:00'), epoch)).toEqual(at('11:00:00'))
  expect(toSpanEnd(at('09:00:00'), at('10:00:00'), epoch)).toEqual(at('10:00:00'))
  expect(toSpanEnd(at('11:00:00'), at('10:00:00'), at('12:00:00'))).toEqual(at('12:00:00'))
})

test('planUsageEvents: whole units, with fractions carried into the next hour', () => {
  const hours = [1_999, 2, 998, 1, 0].map((thousandths, hour) => ({
    hour: at(`0${hour}:00:00`),
    thousandths,
  }))
  const events = [
    { priceKey: 'key', hour: at('00:00:00'), quantity: 1 },
    { priceKey: 'key', hour: at('01:00:00'), quantity: 1 },
    { priceKey: 'key', hour: at('03:00:00'), quantity: 1 },
  ]
  expect(planUsageEvents('key', hours)).toEqual({ events, remainder: 0 })
  // Reading in pages gives the same events.
  const first = planUsageEvents('key', hours.slice(0, 2))
  expect(first).toEqual({ events: events.slice(0, 2), remainder: 1 })
  expect(planUsageEvents('key', hours.slice(2), first.remainder)).toEqual({
    events: events.slice(2),
    remainder: 0,
  })
})

test('toPriceKey: values ordered by dimension name, limited characters, at most 100 of them', () => {
  const unit = { amount: '0.001', currency: 'usd' }
  expect(toPriceKey('gpu_instance_seconds', { region: 'EU/1', instance_type: 'H100 x8' }, unit)).toBe(
    'gpu_instance_seconds.h100-x8.eu-1.0.001-usd',
  )
  expect(toPriceKey('inference_input_tokens', { model_name: 'm' }, null)).toBe('inference_input_tokens.m')
  const [one, other] = ['a', 'b'].map((end) =>
    toPriceKey('inference_input_tokens', { model_name: 'm'.repeat(200) + end }, unit),
  )
  expect(one).toHaveLength(100)
  expect(one).not.toBe(other)
})

test('decimals have no exponent and no trailing zeros', () => {
  expect(formatDecimal('12.3450')).toBe('12.345')
  expect(formatDecimal('0.000')).toBe('0')
  expect(formatDecimal('0.0000000001')).toBe('0.0000000001')
  expect(formatDecimal('100')).toBe('100')
  expect(fromThousandths(12_345)).toBe('12.345')
  expect(multiply('9007199254740993.001', '0.000000000001')).toBe('9007.199254740993001')
  expect(add('0.1', '0.2')).toBe('0.3')
})
