import { z } from 'zod'
import { text, timestamp } from '../../http/schemas.ts'
import type { ProcessorInvoice, SavedCard, SetupSession } from '../../ports/payment-processor.ts'
import { accountStatuses, billingModes, subscriptionStatuses } from './account-state.ts'
import type { AccountUsage } from './account-usage.ts'
import type { BillingAccount } from './store.ts'

const collectionMethod = z.enum(['charge_automatically', 'send_invoice'])
const subscriptionStatus = z
  .enum(subscriptionStatuses)
  .describe('The status at the payment processor; `none` before the first subscription')

export const billingConfigBody = z
  .object({
    publishable_key: z.string(),
    features: z.object({
      processor: z.enum(['sandbox', 'stripe']),
      postpaid: z.boolean(),
      send_invoice: z.boolean(),
      portal: z.boolean(),
      trial: z.boolean(),
    }),
  })
  .meta({ id: 'BillingConfig' })

const amount = z.string().describe('A decimal in the main unit of the currency')

export const billingAccountBody = z
  .object({
    id: z.int(),
    organization_id: z.int(),
    account_type: z.literal('organization'),
    currency: z.string().meta({ examples: ['usd'] }),
    billing_mode: z.enum(billingModes),
    status: z.enum(accountStatuses),
    processor_customer_id: z.string().nullable(),
    processor_subscription_id: z.string().nullable(),
    subscription_status: subscriptionStatus,
    collection_method: collectionMethod.nullable(),
    current_period_start: timestamp.nullable(),
    current_period_end: timestamp.nullable(),
    auto_charge_enabled_at: timestamp.nullable(),
    auto_charge_enabled_by_user_id: z.int().nullable(),
    max_active_resources: z.int().describe('Maximum number of deployments that are not failed or terminated'),
    active_resources: z.int().describe('Current number of these deployments'),
    trial_credit: z
      .object({ granted: amount, used: amount, remaining: amount })
      .nullable()
      .describe('The free usage of the trial, in `currency`; null when the account is not on trial'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'BillingAccount' })

export const subscriptionBody = z
  .object({
    billing_account_id: z.int(),
    subscription_status: subscriptionStatus,
    collection_method: collectionMethod.nullable(),
    current_period_start: timestamp.nullable(),
    current_period_end: timestamp.nullable(),
  })
  .meta({ id: 'Subscription' })

export const activatePostpaidBody = z
  .object({ processor_payment_method_id: text({ min: 1, max: 255 }) })
  .meta({ id: 'ActivatePostpaid', examples: [{ processor_payment_method_id: 'pm_1' }] })

export const collectionMethodBody = z
  .object({ collection_method: collectionMethod })
  .meta({ id: 'CollectionMethod' })

export const defaultPaymentMethodBody = z
  .object({ processor_default_payment_method_id: text({ min: 1, max: 255 }) })
  .meta({ id: 'DefaultPaymentMethod', examples: [{ processor_default_payment_method_id: 'pm_1' }] })

export const paymentMethodBody = z
  .object({
    id: z.string(),
    brand: z.string(),
    last4: z.string(),
    exp_month: z.int(),
    exp_year: z.int(),
    is_default: z.boolean(),
    allow_redisplay: z.string(),
  })
  .meta({ id: 'PaymentMethod' })

export const paymentMethodsBody = z.array(paymentMethodBody)

/** A return URL on our own origin; others would allow open redirects. */
function returnUrl({ origin }: URL) {
  return text({ min: 1, max: 2048 })
    .refine((address) => isOnOrigin(address, origin), `Use a URL that begins with ${origin}.`)
    .transform((address) => new URL(address).href)
    .optional()
    .meta({ type: 'string', format: 'uri' })
}

function isOnOrigin(address: string, origin: string): boolean {
  const url = URL.parse(address)
  return url !== null && url.origin === origin && url.username === '' && url.password === ''
}

export function setupSessionBody(publicUrl: URL) {
  return z
    .object({
      return_url: returnUrl(publicUrl),
      purpose: z.enum(['payment_method_setup', 'postpaid_activation']).default('payment_method_setup'),
    })
    .meta({ id: 'SetupSessionRequest' })
}

export function portalSessionBody(publicUrl: URL) {
  return z.object({ return_url: returnUrl(publicUrl) }).meta({ id: 'PortalSessionRequest' })
}

export const portalUrlBody = z.object({ url: z.string() }).meta({ id: 'PortalSession' })

export const checkoutSessionBody = z
  .object({
    checkout_session_id: z.string(),
    client_secret: z.string().describe('Grants access to the checkout page'),
    mode: z.string(),
    status: z.string(),
    payment_status: z.string(),
    expires_at: timestamp,
  })
  .meta({ id: 'CheckoutSession' })

export const invoiceBody = z
  .object({
    processor_invoice_id: z.string(),
    status: z.string(),
    collection_method: z.string(),
    amount_due: z.int().describe('In the smallest unit of the currency'),
    amount_paid: z.int().describe('In the smallest unit of the currency'),
    currency: z.string(),
    hosted_invoice_url: z.string(),
    invoice_pdf: z.string(),
    due_date: timestamp.nullable(),
    period_start: timestamp,
    period_end: timestamp,
    created: timestamp,
  })
  .meta({ id: 'Invoice' })

export const invoicesBody = z.array(invoiceBody)

export const webhookHeaders = z.object({
  'stripe-signature': z
    .string()
    .describe('`t=<seconds since 1970>,v1=<HMAC-SHA256 of "<t>.<raw body>" in hex>`, at most 5 minutes old'),
})

export const webhookBody = z
  .looseObject({
    id: z.string().meta({ examples: ['evt_1'] }),
    object: z.literal('event'),
    type: z.string().meta({ examples: ['invoice.paid'] }),
    created: z.int().describe('Unix time in seconds'),
    data: z.object({ object: z.looseObject({ id: z.string(), object: z.string() }) }),
  })
  .meta({ id: 'WebhookEvent', description: 'An event of Stripe or of the payment sandbox' })

export const receivedBody = z.object({ received: z.literal(true) }).meta({ id: 'WebhookReceived' })

export function toAccountBody(
  account: BillingAccount,
  { activeResources, trialCredit }: AccountUsage,
): z.infer<typeof billingAccountBody> {
  return {
    id: account.id,
    organization_id: account.organization_id,
    account_type: account.account_type,
    currency: account.currency,
    billing_mode: account.billing_mode,
    status: account.status,
    processor_customer_id: account.processor_customer_id,
    processor_subscription_id: account.processor_subscription_id,
    subscription_status: account.subscription_status,
    collection_method: account.collection_method,
    current_period_start: toTimestamp(account.current_period_start),
    current_period_end: toTimestamp(account.current_period_end),
    auto_charge_enabled_at: toTimestamp(account.auto_charge_enabled_at),
    auto_charge_enabled_by_user_id: account.auto_charge_enabled_by_user_id,
    max_active_resources: account.max_active_resources,
    active_resources: activeResources,
    trial_credit: trialCredit,
    created_at: account.created_at.toISOString(),
    updated_at: account.updated_at.toISOString(),
  }
}

export function toSubscriptionBody(account: BillingAccount): z.infer<typeof subscriptionBody> {
  return {
    billing_account_id: account.id,
    subscription_status: account.subscription_status,
    collection_method: account.collection_method,
    current_period_start: toTimestamp(account.current_period_start),
    current_period_end: toTimestamp(account.current_period_end),
  }
}

export function toPaymentMethodBody(card: SavedCard): z.infer<typeof paymentMethodBody> {
  return {
    id: card.id,
    brand: card.brand,
    last4: card.last4,
    exp_month: card.expMonth,
    exp_year: card.expYear,
    is_default: card.isDefault,
    allow_redisplay: card.allowRedisplay,
  }
}

export function toCheckoutSessionBody(session: SetupSession): z.infer<typeof checkoutSessionBody> {
  return {
    checkout_session_id: session.id,
    client_secret: session.clientSecret,
    mode: session.mode,
    status: session.status,
    payment_status: session.paymentStatus,
    expires_at: session.expiresAt.toISOString(),
  }
}

export function toInvoiceBody(invoice: ProcessorInvoice): z.infer<typeof invoiceBody> {
  return {
    processor_invoice_id: invoice.id,
    status: invoice.status,
    collection_method: invoice.collectionMethod,
    amount_due: invoice.amountDue,
    amount_paid: invoice.amountPaid,
    currency: invoice.currency,
    hosted_invoice_url: invoice.hostedInvoiceUrl,
    invoice_pdf: invoice.invoicePdf,
    due_date: toTimestamp(invoice.dueDate),
    period_start: invoice.periodStart.toISOString(),
    period_end: invoice.periodEnd.toISOString(),
    created: invoice.created.toISOString(),
  }
}

function toTimestamp(moment: Date | null): string | null {
  return moment?.toISOString() ?? null
}
