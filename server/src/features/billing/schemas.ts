import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { count, entityId, optionalField, text, timestamp, url } from '../../http/schemas.ts'
import type { ProcessorInvoice, SavedCard, SetupSession } from '../../ports/payment-processor.ts'
import {
  accountStatuses,
  billingModes,
  currentPeriod,
  subscriptionStatuses,
} from './account/account-state.ts'
import { findLimit } from './limits/deployment-limits.ts'
import type { AccountUsage } from './usage/account-usage.ts'
import type { BillingAccount } from './account/store.ts'

const collectionMethod = z.enum(['charge_automatically', 'send_invoice'])
const subscriptionStatus = z
  .enum(subscriptionStatuses)
  .describe('The status at the payment processor; `none` before the first subscription')

export const billingConfigBody = z
  .object({
    publishable_key: z.string().describe('Stripe’s key for browsers'),
    features: z
      .object({
        processor: z.enum(['sandbox', 'stripe']).describe('The sandbox makes no charges'),
        postpaid: z.boolean().describe('Whether billing can be activated'),
        send_invoice: z.boolean().describe('Whether invoices can be sent instead of charged'),
        portal: z.boolean().describe('Whether the processor has a portal for cards and invoices'),
        trial: z.boolean().describe('Whether new organizations get a trial'),
      })
      .describe('What this installation offers'),
    deployment_limits: z
      .object({
        trial: count.describe('In the trial'),
        postpaid: count.describe('After the activation of billing'),
      })
      .describe('How many deployments a new organization may have at a time'),
  })
  .meta({ id: 'BillingConfig', description: 'The billing features of this installation' })

const amount = z.string().describe('A decimal in the main unit of the currency')

export const billingAccountBody = z
  .object({
    id: entityId.describe('Id of the billing account'),
    organization_id: entityId.describe('The organization that it belongs to'),
    account_type: z.literal('organization').describe('Always `organization`'),
    currency: z.string().meta({ description: 'Currency of all amounts', examples: ['usd'] }),
    billing_mode: z
      .enum([...billingModes, 'off'])
      .describe('`trial`, or the kind of payment; `off` without billing'),
    status: z.enum(accountStatuses).describe('Status of the account here'),
    processor_customer_id: z
      .string()
      .nullable()
      .describe('The customer at the payment processor; null before the first contact'),
    processor_subscription_id: z.string().nullable().describe('The subscription at the payment processor'),
    subscription_status: subscriptionStatus,
    collection_method: collectionMethod.describe('Whether invoices are charged to the card or sent'),
    current_period_start: timestamp.describe('Start of the current billing period'),
    current_period_end: timestamp.describe('End of the current billing period'),
    auto_charge_enabled_at: timestamp.nullable().describe('When automatic charging was activated'),
    auto_charge_enabled_by_user_id: entityId.nullable().describe('Who activated automatic charging'),
    max_active_resources: count.describe(
      'Maximum number of deployments that are not failed or terminated; one with several instances counts as often as its `max_instances`',
    ),
    active_resources: count.describe('Current number of these deployments'),
    trial_credit: z
      .object({
        granted: amount.describe('The whole credit, a decimal'),
        used: amount.describe('The part that is used up, a decimal'),
        remaining: amount.describe('The rest, a decimal'),
      })
      .nullable()
      .describe('The free usage of the trial, in `currency`; null when the account is not on trial'),
    created_at: timestamp.describe('Creation of the account'),
    updated_at: timestamp.describe('Latest change'),
  })
  .meta({ id: 'BillingAccount', description: 'The billing account of an organization' })

export const subscriptionBody = z
  .object({
    billing_account_id: entityId.describe('The billing account'),
    subscription_status: subscriptionStatus,
    collection_method: collectionMethod.describe('Whether invoices are charged to the card or sent'),
    current_period_start: timestamp.describe('Start of the current billing period'),
    current_period_end: timestamp.describe('End of the current billing period'),
  })
  .meta({ id: 'Subscription', description: 'The subscription of an organization' })

const cardId = text({ min: 1, max: 255 }).describe('Id of a saved card')

export const activatePostpaidBody = z
  .object({ processor_payment_method_id: cardId })
  .meta({ id: 'ActivatePostpaid', examples: [{ processor_payment_method_id: 'pm_1' }] })

export const collectionMethodBody = z
  .object({
    collection_method: collectionMethod.describe('Whether to charge invoices to the card or to send them'),
  })
  .meta({ id: 'CollectionMethod', examples: [{ collection_method: 'send_invoice' }] })

export const defaultPaymentMethodBody = z
  .object({ processor_default_payment_method_id: cardId })
  .meta({ id: 'DefaultPaymentMethod', examples: [{ processor_default_payment_method_id: 'pm_1' }] })

export const paymentMethodBody = z
  .object({
    id: z.string().describe('Id at the payment processor'),
    brand: z.string().describe('Such as `visa`'),
    last4: z.string().describe('Last four digits'),
    exp_month: z.int().meta({ minimum: 1, maximum: 12, description: 'Month of expiry' }),
    exp_year: z.int().describe('Year of expiry'),
    is_default: z.boolean().describe('Whether invoices are charged to it'),
    allow_redisplay: z.string().describe('Whether the processor may offer the card again'),
  })
  .meta({ id: 'PaymentMethod', description: 'A saved card' })

export const paymentMethodsBody = z.array(paymentMethodBody).describe('The saved cards')

const returnUrl = optionalField(
  text({ min: 1, max: 2048 })
    .refine((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ''), 'Must be an http or https URL.')
    .transform((url) => new URL(url).href)
    .meta({ type: 'string', format: 'uri' }),
).describe('Where the page leads back to')

export const setupSessionBody = z
  .object({
    return_url: returnUrl,
    purpose: optionalField(z.enum(['payment_method_setup', 'postpaid_activation']))
      .transform((purpose) => purpose ?? 'payment_method_setup')
      .meta({ description: 'What the card is for', default: 'payment_method_setup' }),
  })
  .meta({ id: 'SetupSessionRequest', examples: [{ purpose: 'payment_method_setup' }] })

export const portalSessionBody = z
  .object({ return_url: returnUrl })
  .meta({ id: 'PortalSessionRequest', examples: [{}] })

export const portalUrlBody = z
  .object({ url: url.describe('Opens the portal') })
  .meta({ id: 'PortalSession', description: 'The address of the portal' })

export const checkoutSessionBody = z
  .object({
    checkout_session_id: z.string().describe('Id at the payment processor'),
    client_secret: z.string().describe('Grants access to the checkout page'),
    mode: z.string().describe('Always `setup`'),
    status: z.string().describe('Status of the checkout'),
    payment_status: z.string().describe('Status of the payment'),
    expires_at: timestamp.describe('End of the checkout page'),
  })
  .meta({ id: 'CheckoutSession', description: 'A checkout page of the payment processor' })

export const invoiceBody = z
  .object({
    processor_invoice_id: z.string().describe('Id at the payment processor'),
    status: z.string().describe('Such as `open` or `paid`'),
    collection_method: z.string().describe('Whether the invoice is charged to the card or sent'),
    amount_due: z.int().describe('In the smallest unit of the currency'),
    amount_paid: z.int().describe('In the smallest unit of the currency'),
    currency: z.string().describe('Currency of the amounts'),
    hosted_invoice_url: z.string().describe('Address of the invoice as a page; empty if it has none'),
    invoice_pdf: z
      .string()
      .describe(
        'Address of the invoice as a PDF; that of its page if the processor makes no PDFs, empty if it has none',
      ),
    due_date: timestamp.nullable().describe('null if the card is charged'),
    period_start: timestamp.describe('Start of the billed period'),
    period_end: timestamp.describe('End of the billed period'),
    created: timestamp.describe('Creation of the invoice'),
  })
  .meta({ id: 'Invoice', description: 'An invoice of the payment processor' })

export const invoicesBody = z.array(invoiceBody).describe('The invoices, newest first')

export const webhookHeaders = z.object({
  'stripe-signature': z
    .string()
    .describe('`t=<seconds since 1970>,v1=<HMAC-SHA256 of "<t>.<raw body>" in hex>`, at most 5 minutes old'),
})

export const webhookBody = z
  .looseObject({
    id: z.string().meta({ description: 'Id of the event', examples: ['evt_1'] }),
    object: z.literal('event').describe('Always `event`'),
    type: z.string().meta({ description: 'Kind of the event', examples: ['invoice.paid'] }),
    created: z.int().describe('Unix time in seconds'),
    data: z
      .object({
        object: z
          .looseObject({
            id: z.string().describe('Its id'),
            object: z.string().describe('Its type'),
          })
          .describe('The object that changed'),
      })
      .describe('What the event is about'),
  })
  .meta({
    id: 'WebhookEvent',
    description: 'An event of Stripe or of the payment sandbox',
    examples: [
      {
        id: 'evt_1',
        object: 'event',
        type: 'invoice.paid',
        created: 1_767_323_045,
        data: { object: { id: 'in_1', object: 'invoice' } },
      },
    ],
  })

export const receivedBody = z
  .object({ received: z.literal(true).describe('Always true') })
  .meta({ id: 'WebhookReceived', description: 'The event is stored' })

export function toAccountBody(
  account: BillingAccount,
  { activeResources, trialCredit }: AccountUsage,
  config: Pick<Config, 'billing'>,
  now: Date,
): z.infer<typeof billingAccountBody> {
  return {
    id: account.id,
    organization_id: account.organization_id,
    account_type: account.account_type,
    currency: account.currency,
    billing_mode: config.billing.isOn ? account.billing_mode : 'off',
    status: account.status,
    processor_customer_id: account.processor_customer_id,
    processor_subscription_id: account.processor_subscription_id,
    subscription_status: account.subscription_status,
    ...toTerms(account, now),
    auto_charge_enabled_at: toTimestamp(account.auto_charge_enabled_at),
    auto_charge_enabled_by_user_id: account.auto_charge_enabled_by_user_id,
    max_active_resources: findLimit(account, config),
    active_resources: activeResources,
    trial_credit: trialCredit,
    created_at: account.created_at.toISOString(),
    updated_at: account.updated_at.toISOString(),
  }
}

/** What applies to the account now, also before it has a subscription. */
function toTerms(account: BillingAccount, now: Date) {
  const { start, end } = currentPeriod(account, now)
  return {
    collection_method: account.collection_method ?? ('charge_automatically' as const),
    current_period_start: start.toISOString(),
    current_period_end: end.toISOString(),
  }
}

export function toSubscriptionBody(account: BillingAccount, now: Date): z.infer<typeof subscriptionBody> {
  return {
    billing_account_id: account.id,
    subscription_status: account.subscription_status,
    ...toTerms(account, now),
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
