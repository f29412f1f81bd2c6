import { Exact } from '../../base/decimal.ts'
import { addHours } from './hours.ts'

/** The part of an hour after `since`, from 0 to 1: usage is known by the hour. */
export function shareSince(hour: Date, since: Date): string {
  if (hour >= since) return '1'
  const after = addHours(hour, 1).getTime() - since.getTime()
  return after <= 0 ? '0' : new Exact(after).dividedBy(3_600_000).toDecimalPlaces(12).toFixed()
}
