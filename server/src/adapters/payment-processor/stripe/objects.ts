import type { Stripe } from 'stripe'
import type {
  CollectionMethod,
  ProcessorInvoice,
  ProcessorSubscription,
  ProcessorSubscriptionStatus,
  SavedCard,
  SetupSession,
} from '../../../ports/payment-processor.ts'

/** Converts a payment method; null when it is not a card. */
export function toSavedCard(method: Stripe.PaymentMethod, defaultId: string | null): SavedCard | null {
  const { card } = method
  if (card === undefined) return null
  return {
    id: method.id,
    brand: card.brand,
    last4: card.last4,
    expMonth: card.exp_month,
    expYear: card.exp_year,
    isDefault: method.id === defaultId,
    allowRedisplay: method.allow_redisplay ?? 'unspecified',
  }
}

export function toSetupSession(session: Stripe.Checkout.Session): SetupSession {
  if (session.client_secret === null) throw new Error(`The setup session ${session.id} has no client secret`)
  return {
    id: session.id,
    clientSecret: session.client_secret,
    mode: session.mode,
    status: session.status ?? 'open',
    paymentStatus: session.payment_status,
    expiresAt: fromSeconds(session.expires_at),
  }
}

/** Stripe keeps periods on the items; all items of a Berth subscription have the same one. */
export function toSubscription(subscription: Stripe.Subscription): ProcessorSubscription {
  const [item] = subscription.items.data
  if (item === undefined) throw new Error(`The subscription ${subscription.id} has no items`)
  const card = subscription.default_payment_method
  return {
    id: subscription.id,
    status: subscription.status as ProcessorSubscriptionStatus,
    collectionMethod: subscription.collection_method as CollectionMethod,
    currentPeriodStart: fromSeconds(item.current_period_start),
    currentPeriodEnd: fromSeconds(item.current_period_end),
    defaultPaymentMethodId: typeof card === 'string' ? card : (card?.id ?? null),
    prices: subscription.items.data.flatMap(({ price, created }) => {
      const { berth_key: key } = price.metadata
      return key === undefined ? [] : { key, since: fromSeconds(created) }
    }),
  }
}

export function toInvoice(invoice: Stripe.Invoice): ProcessorInvoice {
  return {
    id: invoice.id,
    status: invoice.status ?? 'draft',
    collectionMethod: invoice.collection_method,
    amountDue: invoice.amount_due,
    amountPaid: invoice.amount_paid,
    currency: invoice.currency,
    hostedInvoiceUrl: invoice.hosted_invoice_url ?? '',
    invoicePdf: invoice.invoice_pdf ?? '',
    dueDate: invoice.due_date === null ? null : fromSeconds(invoice.due_date),
    periodStart: fromSeconds(invoice.period_start),
    periodEnd: fromSeconds(invoice.period_end),
    created: fromSeconds(invoice.created),
  }
}

export function fromSeconds(seconds: number): Date {
  return new Date(seconds * 1000)
}
