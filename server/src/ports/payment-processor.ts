/** What Berth asks of a payment processor; its words are Stripe's, whose model this is. Money in the smallest currency unit. */

export type CollectionMethod = 'charge_automatically' | 'send_invoice'

/** Stripe's eight subscription statuses. */
export type ProcessorSubscriptionStatus =
  | 'incomplete'
  | 'incomplete_expired'
  | 'trialing'
  | 'active'
  | 'past_due'
  | 'canceled'
  | 'unpaid'
  | 'paused'

export interface ProcessorSubscription {
  id: string
  status: ProcessorSubscriptionStatus
  collectionMethod: CollectionMethod
  currentPeriodStart: Date
  currentPeriodEnd: Date
  defaultPaymentMethodId: string | null
}

export interface SavedCard {
  id: string
  brand: string
  last4: string
  expMonth: number
  expYear: number
  isDefault: boolean
  allowRedisplay: string
}

export interface SetupSession {
  id: string
  clientSecret: string
  mode: string
  status: string
  paymentStatus: string
  expiresAt: Date
}

export interface ProcessorInvoice {
  id: string
  status: string
  collectionMethod: string
  amountDue: number
  amountPaid: number
  currency: string
  hostedInvoiceUrl: string
  invoicePdf: string
  dueDate: Date | null
  periodStart: Date
  periodEnd: Date
  created: Date
}

/** One thing that is charged for: a meter in one combination of its dimensions, `key` being its name at the processor. */
export interface MeteredPrice {
  /** E.g. `gpu_instance_seconds.local-cpu.local`: stable, unique, at most 100 characters */
  key: string
  displayName: string
  /** Price of one unit in the currency's main unit, a decimal string */
  unitAmountDecimal: string
  currency: string
}

export interface UsageEvent {
  priceKey: string
  customerId: string
  /** The same for every attempt: what was taken once is not counted twice */
  identifier: string
  at: Date
  /** A whole number of units */
  quantity: number
}

/** An event as the webhook tells it: what it is about is fetched again, never believed. */
export interface ProcessorEvent {
  id: string
  type: string
  created: Date
  customerId: string | null
}

export type SubscriptionResult =
  | { outcome: 'created'; subscription: ProcessorSubscription }
  /** The card was refused, or wants its owner's consent; `message` is a sentence for a person */
  | { outcome: 'card_refused'; code: string; message: string }
  /** It failed at the processor, which would answer the same to the same key */
  | { outcome: 'failed'; error: Error }

/** Calls throw on faults that may pass (network, 5xx, rate limits). What is unknown to the processor is null. */
export interface PaymentProcessor {
  readonly name: 'sandbox' | 'stripe'
  readonly publishableKey: string
  /** Names the account at the processor and this installation in it; where it changes, what was known may be unknown there */
  readonly account: string
  /** Prices that a subscription takes */
  readonly mostPrices: number
  /** Idempotent by organization. `replaces`: the customer that it had, and that is no more. */
  createCustomer(customer: {
    organizationId: number
    email: string
    name: string
    replaces?: string | null | undefined
  }): Promise<string>
  /** False for one that was deleted, or that another account of the processor has. */
  hasCustomer(customerId: string): Promise<boolean>
  createSetupSession(setup: {
    customerId: string
    organizationId: number
    currency: string
    purpose: 'payment_method_setup' | 'postpaid_activation'
    returnUrl: string
  }): Promise<SetupSession>
  /** None where the customer is unknown. */
  listCards(customerId: string): Promise<SavedCard[]>
  /** A card of this customer, or null for one that is another's or unknown. */
  findCard(customerId: string, cardId: string): Promise<SavedCard | null>
  /** For new invoices, and for the subscription if there is one: the subscription's own value wins at the processor. */
  setDefaultCard(customerId: string, subscriptionId: string | null, cardId: string): Promise<void>
  detachCard(cardId: string): Promise<void>
  /** Subscribes to all prices that were published last, charged to the card; the same `idempotencyKey` never makes a second one. */
  createSubscription(subscription: {
    customerId: string
    organizationId: number
    cardId: string
    idempotencyKey: string
  }): Promise<SubscriptionResult>
  /** The customer's subscription that is not over, else the newest; null when there never was one, or the customer is unknown. */
  findSubscription(customerId: string): Promise<ProcessorSubscription | null>
  /** Makes a subscription one of this installation, whose prices it follows. */
  claimSubscription(subscriptionId: string): Promise<void>
  setCollectionMethod(
    subscriptionId: string,
    method: CollectionMethod,
    cardId: string | null,
  ): Promise<ProcessorSubscription>
  createPortalSession(customerId: string, returnUrl: string): Promise<string>
  /** Newest first, without drafts; none where the customer is unknown. */
  listInvoices(customerId: string): Promise<ProcessorInvoice[]>
  sendUsage(event: UsageEvent): Promise<void>
  /** What the processor has counted for a price in [from, to), both whole hours: to settle what an attempt left unknown. */
  countUsage(priceKey: string, customerId: string, from: Date, to: Date): Promise<number>
  /** The event that a webhook's raw body holds, or null for a wrong, old or future signature (5 minutes either way). */
  readWebhook(rawBody: Buffer, signature: string, now: Date): ProcessorEvent | null
  /** Events since then, oldest first: the sweep for webhooks that never arrived. */
  listEvents(since: Date): AsyncIterable<ProcessorEvent>
  /** Makes what `prices` need (products, meters, prices) exist at the processor, for subscriptions to have; may be run again. */
  publishPrices(prices: readonly MeteredPrice[]): Promise<void>
  /** The keys of the prices that were published last. */
  listPublishedKeys(): Promise<string[]>
  close(): Promise<void>
}
