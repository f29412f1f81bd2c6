import type { DailyUsage } from '../../contract.ts'
import { sumDecimals } from '../../domain/billing/decimal.ts'
import type { Measure } from './measures.ts'

type Item = DailyUsage['items'][number]
/** An item of any grouping */
type Measured = Omit<Item, 'date'>
type Amounts = Pick<Item, 'quantity' | 'estimated_amount'>

/** A series: an instance type or a model. `values` has one number per day; time is in hours. */
export interface Series {
  name: string
  values: number[]
  total: number
}

/** The number of chart colors. The smallest series are combined into one. */
const maxSeries = 6

/** Stacks daily usage by instance type or model, largest series first; empty without usage. */
export function stackByDay(
  items: readonly Item[],
  days: readonly string[],
  measure: Measure,
  otherName: string,
): Series[] {
  const counted = items.filter(({ unit }) => measure === 'cost' || unit === unitOf[measure])
  const series = [...Map.groupBy(counted, nameSeries)]
    .map(([name, own]) => toSeries(name, own, days, measure))
    .filter(({ total }) => total > 0)
    .toSorted((one, other) => other.total - one.total)
  if (series.length <= maxSeries) return series
  const rest = series.slice(maxSeries - 1)
  const shown = series.slice(0, maxSeries - 1)
  return [
    ...shown,
    {
      name: otherName,
      values: days.map((_, index) => rest.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)),
      total: rest.reduce((sum, { total }) => sum + total, 0),
    },
  ]
}

const unitOf = { hours: 'second', tokens: 'token' }

function toSeries(name: string, items: readonly Item[], days: readonly string[], measure: Measure): Series {
  const byDay = Map.groupBy(items, ({ date }) => date)
  return {
    name,
    values: days.map((day) => sumMeasure(byDay.get(day) ?? [], measure)),
    total: sumMeasure(items, measure),
  }
}

/** Adds up a measure. The sum is exact until it is converted to a number for the chart. */
export function sumMeasure(items: readonly Amounts[], measure: Measure): number {
  if (measure === 'cost') return Number(sumDecimals(items.map((item) => item.estimated_amount)))
  const quantity = Number(sumDecimals(items.map((item) => item.quantity)))
  return measure === 'hours' ? quantity / 3_600 : quantity
}

/** The instance type or the model. */
function nameSeries({ dimensions }: Item): string {
  return dimensions.instance_type ?? dimensions.model_name ?? Object.values(dimensions).join(' ')
}

/** The totals of a meter and of its dimensions, as decimal strings. */
export interface MeterSum {
  meter: string
  unit: string
  quantity: string
  amount: string
  parts: { label: string; quantity: string; amount: string }[]
}

/** Adds up usage by meter and, within each, by dimensions, largest first. */
export function sumByMeter(items: readonly Measured[]): MeterSum[] {
  return [...Map.groupBy(items, ({ meter }) => meter)].map(([meter, own]) => ({
    meter,
    unit: own[0]?.unit ?? '',
    ...sumUp(own),
    parts: [...Map.groupBy(own, ({ dimensions }) => describeDimensions(dimensions))]
      .map(([label, part]) => ({ label, ...sumUp(part) }))
      .toSorted((one, other) => Number(other.quantity) - Number(one.quantity)),
  }))
}

function sumUp(items: readonly Amounts[]) {
  return {
    quantity: sumDecimals(items.map(({ quantity }) => quantity)),
    amount: sumDecimals(items.map((item) => item.estimated_amount)),
  }
}

/** The dimension values ordered by dimension name, such as `gpu-a10 · eu-1`. */
export function describeDimensions(dimensions: Record<string, string>): string {
  return Object.keys(dimensions)
    .toSorted()
    .map((name) => dimensions[name])
    .join(' · ')
}
