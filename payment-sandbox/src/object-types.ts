import type { Stripe } from 'stripe'
import type { BillingCycleAnchor } from './periods.ts'

/**
 * The wire fields of `Whole`, an object of Stripe's API, optional and with decimals as strings. Built with
 * `satisfies Wire<Stripe.…>`, a field that Stripe lacks, or has with another type, does not compile.
 */
export type Wire<Whole> = Whole extends Stripe.Decimal
  ? string
  : Whole extends string | number | boolean | null | undefined
    ? Whole
    : Whole extends (infer Element)[]
      ? Wire<Element>[]
      : { [Name in keyof Whole]?: Wire<Whole[Name]> }

export interface Customer {
  id: string
  object: 'customer'
  email: string | null
  invoice_prefix: string
  invoice_settings: { default_payment_method: string | null }
  metadata: Record<string, string>
  name: string | null
  next_invoice_sequence: number
}

export interface PaymentMethod {
  id: string
  object: 'payment_method'
  allow_redisplay: 'unspecified'
  card: {
    brand: 'visa' | 'mastercard'
    exp_month: number
    exp_year: number
    fingerprint: string
    last4: string
  }
  customer: string | null
  /** `entered_for`: id of its form's session or invoice. `verified`: saved with the bank's approval. */
  metadata: { entered_for?: string; verified?: 'yes' }
  type: 'card'
}

export interface CheckoutSession {
  id: string
  object: 'checkout.session'
  client_secret: string | null
  customer: string
  expires_at: number
  metadata: Record<string, string>
  mode: 'setup'
  payment_status: 'no_payment_required'
  return_url: string
  setup_intent: { id: string; object: 'setup_intent'; payment_method: string } | null
  status: 'open' | 'complete' | 'expired'
}

export interface PortalSession {
  id: string
  object: 'billing_portal.session'
  created: number
  customer: string
  return_url: string
  url: string
}

export interface Product {
  id: string
  object: 'product'
  metadata: Record<string, string>
  name: string
}

export interface Meter {
  id: string
  object: 'billing.meter'
  display_name: string
  event_name: string
  status: 'active'
}

export interface Price {
  id: string
  object: 'price'
  active: boolean
  currency: string
  lookup_key: string | null
  metadata: Record<string, string>
  nickname: string
  product: string
  recurring: { interval: 'month'; meter: string; usage_type: 'metered' }
  type: 'recurring'
  unit_amount_decimal: string
}

export interface SubscriptionItem {
  id: string
  object: 'subscription_item'
  created: number
  current_period_end: number
  current_period_start: number
  price: Price
}

export interface Subscription {
  id: string
  object: 'subscription'
  billing_cycle_anchor_config: BillingCycleAnchor
  collection_method: CollectionMethod
  currency: string
  customer: string
  days_until_due: number | null
  default_payment_method: string | null
  ended_at: number | null
  items: List<SubscriptionItem>
  metadata: Record<string, string>
  status: 'active' | 'past_due' | 'unpaid' | 'canceled'
}

export type CollectionMethod = 'charge_automatically' | 'send_invoice'

export interface InvoiceLine {
  id: string
  object: 'line_item'
  amount: number
  currency: string
  description: string
  period: { start: number; end: number }
  pricing: {
    type: 'price_details'
    price_details: { price: string; product: string }
    unit_amount_decimal: string
  }
  quantity_decimal: string
}

export interface Invoice {
  id: string
  object: 'invoice'
  amount_due: number
  amount_paid: number
  attempt_count: number
  billing_reason: 'subscription_create' | 'subscription_cycle'
  collection_method: CollectionMethod
  created: number
  currency: string
  customer: string
  customer_email: string | null
  customer_name: string | null
  due_date: number | null
  effective_at: number | null
  hosted_invoice_url: string | null
  invoice_pdf: string | null
  lines: List<InvoiceLine>
  next_payment_attempt: number | null
  number: string | null
  parent: { type: 'subscription_details'; subscription_details: { subscription: string } }
  period_end: number
  period_start: number
  status: 'draft' | 'open' | 'paid'
  total: number
}

export interface List<Element> {
  object: 'list'
  data: Element[]
  has_more: boolean
  url: string
}

/** The stored objects by Stripe's name of their type. */
export interface ObjectTypes {
  customer: Customer
  payment_method: PaymentMethod
  'checkout.session': CheckoutSession
  'billing_portal.session': PortalSession
  product: Product
  'billing.meter': Meter
  price: Price
  subscription: Subscription
  invoice: Invoice
}
export type ObjectType = keyof ObjectTypes
export type SandboxObject = ObjectTypes[ObjectType]
