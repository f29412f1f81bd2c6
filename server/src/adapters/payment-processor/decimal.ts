import { Decimal } from 'decimal.js'

/** Decimals that no product of a price and a quantity exceeds in digits; halves round away from zero. */
export const Exact = Decimal.clone({ precision: 100, rounding: Decimal.ROUND_HALF_UP })
