/** Uses Stripe's model and terms; amounts are in the smallest currency unit. */

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
  /** The prices that it charges, each for usage from `since` on */
  prices: { key: string; since: Date }[]
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

/** The outcome of a setup session: the card that it saved, or whether it can still save one. */
export type SetupResult = { status: 'open' | 'expired' } | { status: 'complete'; cardId: string }

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

/** The usage that an invoice of a period charges. */
export interface InvoicedUsage {
  invoiceId: string
  customerId: string
  /** False for a draft, which later usage of the period still changes */
  isFinal: boolean
  periodStart: Date
  periodEnd: Date
  /**
   * Decimal strings, without lines of other prices. An amount is rounded, in the main unit, without added
   * taxes and discounts. A draft's is rounded twice: its own amount and the price of the usage since.
   */
  lines: { priceKey: string; quantity: string; unitAmount: string; amount: string }[]
}

/** An invoice, or its draft, that may charge usage of a subscription. */
export interface UsageInvoice {
  id: string
  customerId: string
  created: Date
}

/** The price of a meter in one combination of its dimensions. */
export interface MeteredPrice {
  /** The unique meter, e.g. `gpu_instance_seconds.local-cpu.local.0.00001-usd`, up to 100 characters */
  key: string
  displayName: string
  /** Price per unit in the currency's main unit, a decimal string */
  unitAmountDecimal: string
  currency: string
}

export interface UsageEvent {
  priceKey: string
  customerId: string
  /** Idempotency key: the processor counts an event once per identifier */
  identifier: string
  at: Date
  /** A whole number of units */
  quantity: number
}

/** A webhook event. It only identifies the customer; the current state is fetched from the processor. */
export interface ProcessorEvent {
  id: string
  type: string
  created: Date
  customerId: string | null
}

export type SubscriptionResult =
  | { outcome: 'created'; subscription: ProcessorSubscription }
  /** The card was declined or needs its owner's authentication; `message` is a sentence for a person */
  | { outcome: 'card_refused'; code: string; message: string }
  /** A permanent failure: the processor repeats it for the same idempotency key */
  | { outcome: 'failed'; error: Error }

/** Methods throw on temporary failures (network, 5xx, rate limits) and return null for unknown objects. */
export interface PaymentProcessor {
  readonly name: 'sandbox' | 'stripe'
  readonly publishableKey: string
  /** Identifies the account and this installation; after it changes, stored ids may be unknown */
  readonly account: string
  /** The maximum number of prices of a subscription */
  readonly maxPrices: number
  /** Idempotent per organization. `replaces`: the previous customer, which no longer exists. */
  createCustomer(customer: {
    organizationId: number
    email: string
    name: string
    replaces?: string | null | undefined
  }): Promise<string>
  /** False for a deleted customer and for one of another processor account. */
  hasCustomer(customerId: string): Promise<boolean>
  createSetupSession(setup: {
    customerId: string
    organizationId: number
    currency: string
    purpose: 'payment_method_setup' | 'postpaid_activation'
    returnUrl: string
  }): Promise<SetupSession>
  /** Whether a setup session has saved a card; null for an unknown session. */
  findSetupResult(sessionId: string): Promise<SetupResult | null>
  /** Empty for an unknown customer. */
  listCards(customerId: string): Promise<SavedCard[]>
  /** null for an unknown card and for one of another customer. */
  findCard(customerId: string, cardId: string): Promise<SavedCard | null>
  /** Sets the default of the customer and of the subscription, because its own takes precedence. */
  setDefaultCard(customerId: string, subscriptionId: string | null, cardId: string): Promise<void>
  detachCard(cardId: string): Promise<void>
  /**
   * Subscribes to all published prices, charged to the card, from now on. Further periods begin with the UTC
   * hour of `anchor`, on its day of the month. Creates one subscription per `idempotencyKey`.
   */
  createSubscription(subscription: {
    customerId: string
    organizationId: number
    cardId: string
    anchor: Date
    idempotencyKey: string
  }): Promise<SubscriptionResult>
  /** The subscription that has not ended, else the newest; null without one or for an unknown customer. */
  findSubscription(customerId: string): Promise<ProcessorSubscription | null>
  /** Assigns a subscription to this installation, which then updates its prices. */
  claimSubscription(subscriptionId: string): Promise<void>
  /** Ends a subscription now and charges its usage since the last invoice; does nothing if it has ended. */
  cancelSubscription(subscriptionId: string): Promise<void>
  setCollectionMethod(
    subscriptionId: string,
    method: CollectionMethod,
    cardId: string | null,
  ): Promise<ProcessorSubscription>
  createPortalSession(customerId: string, returnUrl: string): Promise<string>
  /** Newest first, without drafts and invoices of zero; empty for an unknown customer. */
  listInvoices(customerId: string): Promise<ProcessorInvoice[]>
  /** All invoices since `since`, with drafts, without subscriptions' first ones, which charge no usage. */
  listUsageInvoices(since: Date): AsyncIterable<UsageInvoice>
  /** The usage on a subscription's invoice, so far for a draft; null for an unknown invoice. */
  findInvoicedUsage(invoiceId: string): Promise<InvoicedUsage | null>
  sendUsage(event: UsageEvent): Promise<void>
  /** The total for a price in [from, to), both whole hours; used to reconcile unconfirmed reports. */
  countUsage(priceKey: string, customerId: string, from: Date, to: Date): Promise<number>
  /** Returns the event; null if the signature is invalid or its timestamp off by over 5 minutes. */
  readWebhook(rawBody: Buffer, signature: string, now: Date): ProcessorEvent | null
  /** Events since `since`, oldest first; used to backfill missed webhooks. */
  listEvents(since: Date): AsyncIterable<ProcessorEvent>
  /** Creates the products, meters and prices for `prices` and updates live subscriptions. Safe to repeat. */
  publishPrices(prices: readonly MeteredPrice[]): Promise<void>
  /** The keys of the currently published prices. */
  listPublishedKeys(): Promise<string[]>
}
