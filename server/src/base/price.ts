import type { Dimensions, MeterName } from './meters.ts'

/** One row of the price file: the price per unit of all usage with these dimensions during its validity. */
export interface Price {
  meter: MeterName
  dimensions: Dimensions
  /** May contain placeholders such as `{instance_type}` for the dimensions of the usage */
  displayName: string
  /** The service of its usage; absent for the meter's */
  serviceKey?: string
  /** Price per unit in the currency's main unit, a decimal string */
  unitAmount: string
  currency: string
  /** The first UTC hour */
  validFrom: Date
  /** The UTC hour after the last; null when the price has no end */
  validUntil: Date | null
}

/** What a million tokens cost, as decimal strings in the main unit of the currency. */
export interface TokenPrices {
  input: string
  output: string
}
