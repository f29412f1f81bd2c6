import { Stripe } from 'stripe'
import type { SubscriptionResult } from '../../../ports/payment-processor.ts'

/** Awaits a request; null when Stripe has no such object in this account. */
export async function nullIfMissing<Result>(request: Promise<Result>): Promise<Result | null> {
  try {
    return await request
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing')
      return null
    throw error
  }
}

/** Converts a card error to a result with Stripe's message for the cardholder; null for other errors. */
export function cardRefusal(error: unknown): Extract<SubscriptionResult, { outcome: 'card_refused' }> | null {
  if (!(error instanceof Stripe.errors.StripeCardError)) return null
  const code = error.decline_code ?? error.code ?? 'card_declined'
  return { outcome: 'card_refused', code, message: error.message }
}

/** True if Stripe returns the same error to every retry (docs.stripe.com/api/idempotent_requests). */
export function isFinal(error: unknown): error is Stripe.errors.StripeError {
  if (!(error instanceof Stripe.errors.StripeError)) return false
  const { statusCode: status = 0, headers } = error
  // Conflicts and rate limits are temporary. 502 to 504 may come from a proxy during the request.
  const isRefused = status >= 400 && status < 500 && status !== 409 && status !== 429
  return isRefused || status === 500 || headers?.['idempotent-replayed'] === 'true'
}

/** True if the meter event exists. Stripe documents no error code for it, so the message counts too. */
export function isDuplicateUsage(error: unknown): boolean {
  return (
    error instanceof Stripe.errors.StripeInvalidRequestError &&
    (error.code === 'duplicate_meter_event' || /already exists with identifier/i.test(error.message))
  )
}

/** True if a request does not fit the object's state, e.g. detaching a card that is not attached. */
export function isUnexpectedState(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeInvalidRequestError
}
