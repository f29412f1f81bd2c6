import type { Stripe } from 'stripe'

/** What every operation needs: the client, and the name by which objects of this installation are found. */
export interface StripeContext {
  stripe: Stripe
  installation: string
}

/** Seconds since 1970, as Stripe's API has times. */
export function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}
