import type { Stripe } from 'stripe'
import { recordEvent } from './events.ts'
import { invalid } from './errors.ts'
import type { Refusal } from './errors.ts'
import { attachMethod, checkSetup, needsConsent } from './payment-methods.ts'
import { getObject, insertObject, newId, saveObject } from './store.ts'
import type { Step } from './store.ts'

const checkoutHours = 24

export async function createSetupIntent(
  step: Step,
  input: {
    customer?: string | undefined
    description?: string | undefined
    metadata?: Stripe.Metadata | undefined
  },
): Promise<Stripe.SetupIntent> {
  if (input.customer !== undefined) await getObject(step.db, 'customer', input.customer, 'customer')
  const intent = await insertObject(step, {
    id: newId('seti'),
    object: 'setup_intent',
    allowed_payment_method_types: null,
    application: null,
    automatic_payment_methods: null,
    cancellation_reason: null,
    client_secret: null,
    created: step.second,
    customer: input.customer ?? null,
    customer_account: null,
    description: input.description ?? null,
    excluded_payment_method_types: null,
    flow_directions: null,
    last_setup_error: null,
    latest_attempt: null,
    livemode: false,
    mandate: null,
    metadata: input.metadata ?? {},
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    single_use_mandate: null,
    status: 'requires_payment_method',
    usage: 'off_session',
  } satisfies Stripe.SetupIntent)
  await recordEvent(step, 'setup_intent.created', intent)
  return intent
}

/** Tries to save a card; what comes of it stands in the intent's status. `pageUrl`: where its owner can consent. */
export async function confirmSetupIntent(
  step: Step,
  intent: Stripe.SetupIntent,
  method: Stripe.PaymentMethod,
  pageUrl: string | null,
): Promise<Stripe.SetupIntent> {
  if (intent.status === 'succeeded' || intent.status === 'canceled') {
    throw invalid(`This SetupIntent is ${intent.status}.`, undefined, 'setup_intent_unexpected_state')
  }
  const verdict = checkSetup(step, method)
  if (verdict === 'asks') {
    const asking = await saveObject(step, {
      ...intent,
      status: 'requires_action',
      payment_method: method.id,
      last_setup_error: null,
      next_action: { type: 'redirect_to_url', redirect_to_url: { return_url: null, url: pageUrl } },
    } satisfies Stripe.SetupIntent)
    await recordEvent(step, 'setup_intent.requires_action', asking)
    return asking
  }
  return verdict === null ? succeed(step, intent, method.id) : failSetupIntent(step, intent, verdict)
}

/** The owner's answer to an intent that asks for consent. */
export async function answerSetupIntent(
  step: Step,
  intent: Stripe.SetupIntent,
  consents: boolean,
): Promise<Stripe.SetupIntent> {
  if (intent.status !== 'requires_action' || typeof intent.payment_method !== 'string') {
    throw invalid('This SetupIntent asks for nothing.', undefined, 'setup_intent_unexpected_state')
  }
  if (!consents) {
    return failSetupIntent(step, intent, {
      ...needsConsent,
      message: 'Your bank could not confirm that it is you. Try again, or take another card.',
    })
  }
  return succeed(step, intent, intent.payment_method)
}

async function succeed(
  step: Step,
  intent: Stripe.SetupIntent,
  methodId: string,
): Promise<Stripe.SetupIntent> {
  const done = await saveObject(step, {
    ...intent,
    status: 'succeeded',
    payment_method: methodId,
    last_setup_error: null,
    next_action: null,
  } satisfies Stripe.SetupIntent)
  if (typeof intent.customer === 'string') await attachMethod(step, methodId, intent.customer)
  await recordEvent(step, 'setup_intent.succeeded', done)
  return done
}

async function failSetupIntent(
  step: Step,
  intent: Stripe.SetupIntent,
  refusal: Refusal,
): Promise<Stripe.SetupIntent> {
  const failed = await saveObject(step, {
    ...intent,
    status: 'requires_payment_method',
    payment_method: null,
    next_action: null,
    last_setup_error: {
      type: 'card_error',
      code: refusal.code,
      decline_code: refusal.declineCode,
      message: refusal.message,
    },
  } satisfies Stripe.SetupIntent)
  await recordEvent(step, 'setup_intent.setup_failed', failed)
  return failed
}

/** A session in which a person saves a card on the checkout page. */
export async function createSetupSession(
  step: Step,
  input: {
    customer: string
    currency: string
    returnUrl: string
    metadata?: Stripe.Metadata | undefined
    setupMetadata?: Stripe.Metadata | undefined
    expiresAt?: number | undefined
  },
): Promise<Stripe.Checkout.Session> {
  const customer = await getObject(step.db, 'customer', input.customer, 'customer')
  const returnUrl = input.returnUrl.replaceAll('{CHECKOUT_SESSION_ID}', 'id')
  if (!URL.canParse(returnUrl) || !/^https?:$/.test(new URL(returnUrl).protocol)) {
    throw invalid('Not a valid URL', 'return_url', 'url_invalid')
  }
  const intent = await createSetupIntent(step, { customer: customer.id, metadata: input.setupMetadata })
  const expiresAt = input.expiresAt ?? step.second + checkoutHours * 3600
  if (expiresAt < step.second + 1800 || expiresAt > step.second + checkoutHours * 3600) {
    throw invalid('A session expires between 30 minutes and 24 hours from now.', 'expires_at')
  }
  return insertObject(
    step,
    {
      id: newId('cs_test'),
      object: 'checkout.session',
      adaptive_pricing: null,
      after_expiration: null,
      allow_promotion_codes: null,
      allowed_payment_method_types: null,
      amount_subtotal: null,
      amount_total: null,
      automatic_tax: { enabled: false, liability: null, provider: null, status: null },
      billing_address_collection: null,
      cancel_url: null,
      client_reference_id: null,
      client_secret: null,
      collected_information: null,
      consent: null,
      consent_collection: null,
      created: step.second,
      currency: input.currency,
      currency_conversion: null,
      custom_fields: [],
      custom_text: {
        after_submit: null,
        shipping_address: null,
        submit: null,
        terms_of_service_acceptance: null,
      },
      customer: customer.id,
      customer_account: null,
      customer_creation: null,
      customer_details: null,
      customer_email: null,
      discounts: null,
      expires_at: expiresAt,
      integration_identifier: null,
      invoice: null,
      invoice_creation: null,
      livemode: false,
      locale: null,
      managed_payments: null,
      metadata: input.metadata ?? {},
      mode: 'setup',
      origin_context: null,
      payment_intent: null,
      payment_link: null,
      payment_method_collection: 'always',
      payment_method_configuration_details: null,
      payment_method_options: null,
      payment_method_types: ['card'],
      payment_status: 'no_payment_required',
      permissions: null,
      recovered_from: null,
      redirect_on_completion: 'always',
      return_url: input.returnUrl,
      saved_payment_method_options: null,
      setup_intent: intent.id,
      shipping_address_collection: null,
      shipping_cost: null,
      shipping_options: [],
      status: 'open',
      submit_type: null,
      subscription: null,
      success_url: null,
      total_details: null,
      ui_mode: 'embedded_page',
      url: null,
      wallet_options: null,
    } satisfies Stripe.Checkout.Session,
    new Date(expiresAt * 1000),
  )
}

export async function completeSession(step: Step, session: Stripe.Checkout.Session): Promise<void> {
  const completed = await saveObject(step, { ...session, status: 'complete' as const }, null)
  await recordEvent(step, 'checkout.session.completed', completed)
}

export async function expireSession(
  step: Step,
  session: Stripe.Checkout.Session,
): Promise<Stripe.Checkout.Session> {
  if (session.status !== 'open') {
    throw invalid(
      `Only open sessions expire; this one is ${session.status}.`,
      undefined,
      'status_transition_invalid',
    )
  }
  const ended = await saveObject(step, { ...session, status: 'expired' as const }, null)
  await recordEvent(step, 'checkout.session.expired', ended)
  return ended
}
