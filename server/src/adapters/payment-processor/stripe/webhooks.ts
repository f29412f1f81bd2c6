import type { Stripe } from 'stripe'
import type { ProcessorEvent } from '../../../ports/payment-processor.ts'
import { fromSeconds } from './objects.ts'

/** The allowed difference between a signature's timestamp and our clock. */
const toleranceSeconds = 300

/** Verifies `Stripe-Signature` (docs.stripe.com/webhooks/signature). Rejects future times, unlike the SDK. */
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

/** The last `t`, which is the one that the SDK verifies. */
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

function findCustomerId(object: {
  object?: string
  id?: string
  customer?: string | { id: string } | null
}): string | null {
  if (object.object === 'customer') return object.id ?? null
  return typeof object.customer === 'string' ? object.customer : (object.customer?.id ?? null)
}
