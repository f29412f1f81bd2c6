import { Stripe } from 'stripe'
import type { PaymentProcessor, ProcessorSubscription } from '../../../ports/payment-processor.ts'
import { cardRefusal, isDuplicateUsage, isFinal, isUnexpectedState, nullIfMissing } from './errors.ts'
import { toInvoice, toSavedCard, toSetupSession, toSubscription } from './objects.ts'
import { findMeteredPrices, publishPrices } from './publish-prices.ts'
import { maxPrices } from './update-subscriptions.ts'
import { parseEvent, readWebhook } from './webhooks.ts'

export interface StripeOptions {
  name: PaymentProcessor['name']
  secretKey: string
  publishableKey: string
  webhookSecret: string
  /** A short name that distinguishes this installation from others in the same Stripe account */
  installation: string
  /** Defaults to HTTPS requests to Stripe */
  fetch?: ((url: string | URL | Request, init?: RequestInit) => Promise<Response>) | undefined
}

/** Payment term of invoices that are sent. */
const daysUntilDue = 30

/** A payment processor that uses Stripe's API, version 2026-10-28.endive. */
export function createStripeProcessor(options: StripeOptions): PaymentProcessor {
  const { installation, webhookSecret } = options
  const stripe = new Stripe(options.secretKey, {
    maxNetworkRetries: 2,
    timeout: 20_000,
    telemetry: false,
    ...(options.fetch === undefined ? {} : { httpClient: Stripe.createFetchHttpClient(options.fetch) }),
  })
  const meterIds = new Map<string, string>()

  async function findDefaultCardId(customerId: string): Promise<string | null> {
    const customer = await nullIfMissing(stripe.customers.retrieve(customerId))
    if (customer === null || customer.deleted) return null
    return idOf(customer.invoice_settings.default_payment_method)
  }

  async function findMeterId(priceKey: string): Promise<string> {
    if (!meterIds.has(priceKey)) {
      for await (const meter of stripe.billing.meters.list({ status: 'active', limit: 100 })) {
        meterIds.set(meter.event_name, meter.id)
      }
    }
    const id = meterIds.get(priceKey)
    if (id === undefined)
      throw new Error(`The processor has no meter ${priceKey} because its price is not published`)
    return id
  }

  return {
    name: options.name,
    publishableKey: options.publishableKey,
    account: `${options.name} ${options.publishableKey} ${installation}`,
    maxPrices,

    async createCustomer({ organizationId, email, name, replaces = null }) {
      const generation = replaces === null ? '' : `-after-${replaces}`
      // All attempts must send the same parameters, or Stripe rejects the idempotency key: the email is set by an update.
      const { id } = await stripe.customers.create(
        { metadata: { installation, organization_id: String(organizationId) } },
        { idempotencyKey: `${installation}-org-${organizationId}-customer${generation}` },
      )
      await stripe.customers.update(id, { email, name })
      return id
    },

    async hasCustomer(customerId) {
      const customer = await nullIfMissing(stripe.customers.retrieve(customerId))
      return customer !== null && !customer.deleted
    },

    async createSetupSession({ customerId, organizationId, currency, purpose, returnUrl }) {
      const metadata = { installation, organization_id: String(organizationId), purpose }
      const session = await stripe.checkout.sessions.create({
        mode: 'setup',
        ui_mode: 'embedded_page',
        customer: customerId,
        currency,
        return_url: returnUrl,
        metadata,
        setup_intent_data: { metadata },
      })
      return toSetupSession(session)
    },

    async listCards(customerId) {
      const defaultId = await findDefaultCardId(customerId)
      const methods = await nullIfMissing(
        Array.fromAsync(stripe.customers.listPaymentMethods(customerId, { type: 'card', limit: 100 })),
      )
      return (methods ?? []).flatMap((method) => toSavedCard(method, defaultId) ?? [])
    },

    async findCard(customerId, cardId) {
      const method = await nullIfMissing(stripe.customers.retrievePaymentMethod(customerId, cardId))
      return method === null ? null : toSavedCard(method, await findDefaultCardId(customerId))
    },

    async setDefaultCard(customerId, subscriptionId, cardId) {
      await stripe.customers.update(customerId, { invoice_settings: { default_payment_method: cardId } })
      if (subscriptionId !== null) {
        await stripe.subscriptions.update(subscriptionId, { default_payment_method: cardId })
      }
    },

    async detachCard(cardId) {
      try {
        await stripe.paymentMethods.detach(cardId)
      } catch (error) {
        if (!isUnexpectedState(error)) throw error
        const method = await nullIfMissing(stripe.paymentMethods.retrieve(cardId))
        if (method?.customer) throw error
      }
    },

    async createSubscription({ customerId, organizationId, cardId, idempotencyKey }) {
      const prices = await findMeteredPrices(stripe, installation)
      if (prices.length === 0)
        throw new Error('No prices are published. For Stripe, run npm run stripe:setup')
      try {
        const subscription = await stripe.subscriptions.create(
          {
            customer: customerId,
            items: prices.map(({ id }) => ({ price: id })),
            collection_method: 'charge_automatically',
            default_payment_method: cardId,
            off_session: true,
            payment_behavior: 'error_if_incomplete',
            metadata: { installation, organization_id: String(organizationId) },
          },
          { idempotencyKey: `${installation}-${idempotencyKey}` },
        )
        return { outcome: 'created', subscription: toSubscription(subscription) }
      } catch (error) {
        const refusal = cardRefusal(error)
        if (refusal !== null) return refusal
        if (isFinal(error)) return { outcome: 'failed', error }
        throw error
      }
    },

    async findSubscription(customerId) {
      const list = stripe.subscriptions.list({ customer: customerId, status: 'all', limit: 100 })
      const found = ((await nullIfMissing(Array.fromAsync(list))) ?? []).map(toSubscription)
      const isOver = ({ status }: ProcessorSubscription) =>
        status === 'canceled' || status === 'incomplete_expired'
      return found.find((subscription) => !isOver(subscription)) ?? found[0] ?? null
    },

    async claimSubscription(subscriptionId) {
      await stripe.subscriptions.update(subscriptionId, { metadata: { installation } })
    },

    async setCollectionMethod(subscriptionId, method, cardId) {
      const card = cardId === null ? {} : { default_payment_method: cardId }
      const subscription = await stripe.subscriptions.update(
        subscriptionId,
        method === 'send_invoice'
          ? { collection_method: method, days_until_due: daysUntilDue, ...card }
          : { collection_method: method, ...card },
      )
      return toSubscription(subscription)
    },

    async createPortalSession(customerId, returnUrl) {
      const { url } = await stripe.billingPortal.sessions.create({
        customer: customerId,
        return_url: returnUrl,
      })
      return url
    },

    async listInvoices(customerId) {
      const invoices = await nullIfMissing(
        Array.fromAsync(stripe.invoices.list({ customer: customerId, limit: 100 })),
      )
      return (invoices ?? []).filter(({ status }) => status !== 'draft').map(toInvoice)
    },

    async sendUsage({ priceKey, customerId, identifier, at, quantity }) {
      if (!Number.isSafeInteger(quantity))
        throw new Error(`Usage is reported in whole units, not ${quantity}`)
      try {
        await stripe.billing.meterEvents.create({
          event_name: priceKey,
          identifier,
          timestamp: toSeconds(at),
          payload: { stripe_customer_id: customerId, value: String(quantity) },
        })
      } catch (error) {
        if (!isDuplicateUsage(error)) throw error
      }
    },

    async countUsage(priceKey, customerId, from, to) {
      const summaries = stripe.billing.meters.listEventSummaries(await findMeterId(priceKey), {
        customer: customerId,
        start_time: toSeconds(from),
        end_time: toSeconds(to),
        value_grouping_window: 'hour',
        limit: 100,
      })
      let sum = 0
      for await (const { aggregated_value: value } of summaries) sum += value
      return sum
    },

    readWebhook: (rawBody, signature, now) => readWebhook(stripe, webhookSecret, rawBody, signature, now),

    async *listEvents(since) {
      const events = await Array.fromAsync(
        stripe.events.list({ created: { gte: toSeconds(since) }, limit: 100 }),
        parseEvent,
      )
      yield* events.toReversed()
    },

    async publishPrices(prices) {
      await publishPrices(stripe, installation, prices)
    },

    async listPublishedKeys() {
      const prices = await findMeteredPrices(stripe, installation)
      return prices.flatMap(({ metadata }) => metadata.berth_key ?? [])
    },
  }
}

function idOf(reference: string | { id: string } | null): string | null {
  return typeof reference === 'string' ? reference : (reference?.id ?? null)
}

function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}
