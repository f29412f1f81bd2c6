import { Stripe } from 'stripe'
import type { SubscriptionResult } from '../../../ports/payment-processor.ts'

/** The object, or null when the processor doesn't know it (or knows it as somebody else's). */
export async function nullIfMissing<Result>(request: Promise<Result>): Promise<Result | null> {
  try {
    return await request
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing')
      return null
    throw error
  }
}

/** A refusal of the card in words for its owner; null for any other error. */
export function cardRefusal(error: unknown): Extract<SubscriptionResult, { outcome: 'card_refused' }> | null {
  if (!(error instanceof Stripe.errors.StripeCardError)) return null
  const code = error.decline_code ?? error.code ?? 'card_declined'
  return { outcome: 'card_refused', code, message: error.message }
}

/**
 * True where the processor answered a request for good: asked again under the same idempotency key, it would answer the same, also
 * where that is a fault of its own (docs.stripe.com/api/idempotent_requests).
 */
export function isFinal(error: unknown): error is Stripe.errors.StripeError {
  if (!(error instanceof Stripe.errors.StripeError)) return false
  const { statusCode: status = 0, headers } = error
  // A conflict and a limit of rate pass; 502 to 504 may be a proxy's, behind which the request goes on.
  const isRefused = status >= 400 && status < 500 && status !== 409 && status !== 429
  return isRefused || status === 500 || headers?.['idempotent-replayed'] === 'true'
}

/** True where usage with this identifier was counted before; Stripe gives no code of its own for it, so the words count. */
export function isDuplicateUsage(error: unknown): boolean {
  return (
    error instanceof Stripe.errors.StripeInvalidRequestError &&
    (error.code === 'duplicate_meter_event' || /already exists with identifier/i.test(error.message))
  )
}

/** True where a request made no sense for the object as it is now, such as detaching what is not attached. */
export function isUnexpectedState(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeInvalidRequestError
}
