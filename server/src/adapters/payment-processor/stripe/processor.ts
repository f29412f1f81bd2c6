import { Agent } from 'node:https'
import { Stripe } from 'stripe'
import { proxyAgentOptions } from '../../../base/proxy.ts'
import type { ProxySettings } from '../../../config/proxy.ts'
import type { PaymentProcessor } from '../../../ports/payment-processor.ts'
import { cardOperations } from './cards.ts'
import { toSeconds } from './context.ts'
import { customerOperations } from './customers.ts'
import { invoicedUsageOperations } from './invoiced-usage.ts'
import { findMeteredPrices, publishPrices } from './publish-prices.ts'
import { subscriptionOperations } from './subscriptions.ts'
import { maxPrices } from './update-subscriptions.ts'
import { usageOperations } from './usage.ts'
import { parseEvent, readWebhook } from './webhooks.ts'

export interface StripeOptions {
  name: PaymentProcessor['name']
  secretKey: string
  publishableKey: string
  webhookSecret: string
  /** A short name that distinguishes this installation from others in the same Stripe account */
  installation: string
  /** How requests reach Stripe */
  transport: ProxySettings | ((url: string | URL | Request, init?: RequestInit) => Promise<Response>)
}

/** A payment processor that uses Stripe's API, version 2026-10-28.endive. */
export function createStripeProcessor(options: StripeOptions): PaymentProcessor {
  const { installation, webhookSecret, transport } = options
  const stripe = new Stripe(options.secretKey, {
    maxNetworkRetries: 2,
    timeout: 20_000,
    telemetry: false,
    httpClient:
      typeof transport === 'function'
        ? Stripe.createFetchHttpClient(transport)
        : Stripe.createNodeHttpClient(new Agent(proxyAgentOptions(transport))),
  })
  const context = { stripe, installation }
  return {
    name: options.name,
    publishableKey: options.publishableKey,
    account: `${options.name} ${options.publishableKey} ${installation}`,
    maxPrices,
    ...customerOperations(context),
    ...cardOperations(context),
    ...subscriptionOperations(context),
    ...usageOperations(context),
    ...invoicedUsageOperations(context),

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
