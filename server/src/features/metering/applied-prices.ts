import type { Dimensions, MeterName } from '../../base/meters.ts'
import { addHours, latest } from './hours.ts'

/** A price and the sealed hours of one meter and combination of dimensions that have it. */
export interface AppliedPrice {
  meter: MeterName
  dimensions: Dimensions
  price: string
  /** The validity in the price list; `until` is null without an end */
  from: Date
  until: Date | null
  /** The first and the last hour with the price */
  firstHour: Date
  lastHour: Date
}

export type PriceValidity = Pick<AppliedPrice, 'meter' | 'dimensions' | 'price' | 'from' | 'until'>

/** Validities of a meter's prices in order. One ends where the next applies, also if edited without dates. */
export function separateValidities(applied: readonly AppliedPrice[]): PriceValidity[] {
  const inOrder = applied.toSorted((one, other) => one.firstHour.getTime() - other.firstHour.getTime())
  const starts = inOrder.map(({ from }, index) => {
    const before = inOrder[index - 1]
    return before === undefined ? from : latest(from, addHours(before.lastHour, 1))
  })
  return inOrder.map(({ meter, dimensions, price, until }, index) => {
    const next = starts[index + 1]
    const ends = next !== undefined && (until === null || next < until) ? next : until
    return { meter, dimensions, price, from: starts[index]!, until: ends }
  })
}
