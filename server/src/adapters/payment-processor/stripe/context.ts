import type { Stripe } from 'stripe'

/** The client, and the name that marks objects of this installation. */
export interface StripeContext {
  stripe: Stripe
  installation: string
}

/** Seconds since 1970, as Stripe's API has times. */
export function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}
