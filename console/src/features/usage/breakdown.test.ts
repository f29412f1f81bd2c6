import { expect, test } from 'vitest'
import type { DailyUsage } from '../../contract.ts'
import { stackByDay, sumByMeter } from './breakdown.ts'

type Item = DailyUsage['items'][number]

function time(date: string, instance_type: string, quantity: string, region = 'local'): Item {
  return {
    date,
    meter: 'gpu_instance_seconds',
    unit: 'second',
    dimensions: { instance_type, region },
    quantity,
    estimated_amount: String(Number(quantity) / 100),
  }
}

function tokens(date: string, model_name: string, quantity: string): Item {
  return {
    date,
    meter: 'inference_input_tokens',
    unit: 'token',
    dimensions: { model_name },
    quantity,
    estimated_amount: '0',
  }
}

const days = ['2026-01-01', '2026-01-02', '2026-01-03']

test('usage is stacked by instance type, with zeros for empty days and the largest series first', () => {
  const items = [
    time('2026-01-01', 'small', '3600'),
    time('2026-01-03', 'large', '3600', 'eu'),
    time('2026-01-03', 'large', '7200', 'us'),
    tokens('2026-01-02', 'tiny', '12'),
  ]
  expect(stackByDay(items, days, 'hours', 'Other')).toEqual([
    { name: 'large', values: [0, 0, 3], total: 3 },
    { name: 'small', values: [1, 0, 0], total: 1 },
  ])
  expect(stackByDay(items, days, 'tokens', 'Other')).toEqual([
    { name: 'tiny', values: [0, 12, 0], total: 12 },
  ])
  // Free usage has no series.
  expect(stackByDay(items, days, 'cost', 'Other').map(({ name }) => name)).toEqual(['large', 'small'])
})

test('the smallest series are combined when there are more series than colors', () => {
  const items = Array.from({ length: 9 }, (_, index) =>
    time('2026-01-02', `type-${index}`, String((9 - index) * 3_600)),
  )
  const series = stackByDay(items, days, 'hours', 'Other')
  expect(series.map(({ name }) => name)).toEqual(['type-0', 'type-1', 'type-2', 'type-3', 'type-4', 'Other'])
  expect(series.at(-1)).toEqual({ name: 'Other', values: [0, 4 + 3 + 2 + 1, 0], total: 10 })
})

test('sums by meter and dimension are exact', () => {
  const items = [
    { ...time('2026-01-01', 'small', '0.1'), estimated_amount: '0.1' },
    { ...time('2026-01-02', 'small', '0.2'), estimated_amount: '0.2' },
    { ...time('2026-01-02', 'large', '7'), estimated_amount: '0.00001' },
  ]
  expect(sumByMeter(items)).toEqual([
    {
      meter: 'gpu_instance_seconds',
      unit: 'second',
      quantity: '7.3',
      amount: '0.30001',
      parts: [
        { label: 'large · local', quantity: '7', amount: '0.00001' },
        { label: 'small · local', quantity: '0.3', amount: '0.3' },
      ],
    },
  ])
})
