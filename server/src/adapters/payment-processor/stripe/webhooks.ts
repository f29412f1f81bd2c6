import type { Stripe } from 'stripe'
import type { ProcessorEvent } from '../../../ports/payment-processor.ts'
import { fromSeconds } from './objects.ts'

/** Seconds that a signature may be old, or ahead of our clock. */
const toleranceSeconds = 300

/**
 * Checks `Stripe-Signature: t=…,v1=…` (docs.stripe.com/webhooks/signature) over the raw body. The SDK looks at the past alone,
 * so a timestamp in the future is refused here.
 */
export function readWebhook(
  stripe: Stripe,
  secret: string,
  rawBody: Buffer,
  signature: string,
  now: Date,
): ProcessorEvent | null {
  let event: Stripe.Event
  try {
    event = stripe.webhooks.constructEvent(
      rawBody,
      signature,
      secret,
      toleranceSeconds,
      undefined,
      now.getTime(),
    )
  } catch {
    return null
  }
  if (signedAt(signature) - Math.floor(now.getTime() / 1000) > toleranceSeconds) return null
  return isEvent(event) ? parseEvent(event) : null
}

/** The last `t`, because that is the one that the SDK has verified. */
function signedAt(signature: string): number {
  const times = signature.split(',').filter((part) => part.startsWith('t='))
  return Number.parseInt(times.at(-1)?.slice(2) ?? '', 10)
}

function isEvent(value: unknown): value is Stripe.Event {
  const event = value as Partial<Stripe.Event> | null
  return (
    typeof event?.id === 'string' &&
    typeof event.type === 'string' &&
    typeof event.created === 'number' &&
    typeof event.data?.object === 'object'
  )
}

export function parseEvent(event: Stripe.Event): ProcessorEvent {
  return {
    id: event.id,
    type: event.type,
    created: fromSeconds(event.created),
    customerId: findCustomerId(event.data.object),
  }
}

function findCustomerId(about: {
  object?: string
  id?: string
  customer?: string | { id: string } | null
}): string | null {
  if (about.object === 'customer') return about.id ?? null
  return typeof about.customer === 'string' ? about.customer : (about.customer?.id ?? null)
}
