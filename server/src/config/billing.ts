import { z } from 'zod'
import { oneOf, wholeNumber } from './values.ts'

/** What an organization may use before it pays by subscription, and then. */
export interface BillingConfig {
  /** null: the embedded sandbox, which charges nobody */
  stripe: { secretKey: string; publishableKey: string; webhookSecret: string } | null
  /** Lower-case code of the one currency of all prices and accounts */
  currency: string
  /** false: nothing is deployed without a subscription */
  trial: boolean
  /** What a trial may use, a decimal string in the main unit of the currency */
  trialCredit: string
  /** Deployments at a time in a trial */
  trialMaxActive: number
  /** Deployments at a time with a subscription */
  postpaidMaxActive: number
}

/** The settings of billing and of the payment processor. */
export const billingSettings = {
  BILLING_PROCESSOR: oneOf(['sandbox', 'stripe']).default('sandbox'),
  STRIPE_SECRET_KEY: z
    .string()
    .trim()
    .regex(/^(sk|rk)_(test|live)_\w+$/, 'give a secret key of Stripe, which begins with sk_ or rk_')
    .optional(),
  STRIPE_PUBLISHABLE_KEY: z
    .string()
    .trim()
    .regex(/^pk_(test|live)_\w+$/, 'give a publishable key of Stripe, which begins with pk_')
    .optional(),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .trim()
    .regex(/^whsec_\w+$/, 'give the signing secret of the webhook endpoint, which begins with whsec_')
    .optional(),
  BILLING_CURRENCY: z
    .string()
    .trim()
    .toLowerCase()
    .regex(/^[a-z]{3}$/, 'give a currency code of three letters such as usd')
    .default('usd'),
  BILLING_TRIAL: oneOf(['on', 'off']).default('on'),
  BILLING_TRIAL_CREDIT: z
    .string()
    .trim()
    .regex(/^\d{1,9}(\.\d{1,6})?$/, 'give an amount such as 10.00')
    .default('10.00'),
  BILLING_TRIAL_MAX_ACTIVE: wholeNumber(0, 1_000_000).default(2),
  BILLING_POSTPAID_MAX_ACTIVE: wholeNumber(0, 1_000_000).default(20),
}

type Settings = z.output<z.ZodObject<typeof billingSettings>>

/** What the settings of billing say together; a problem for each one that is missing. */
export function readBilling(settings: Settings, problems: string[]): BillingConfig {
  return {
    stripe: readStripe(settings, problems),
    currency: settings.BILLING_CURRENCY,
    trial: settings.BILLING_TRIAL === 'on',
    trialCredit: settings.BILLING_TRIAL_CREDIT,
    trialMaxActive: settings.BILLING_TRIAL_MAX_ACTIVE,
    postpaidMaxActive: settings.BILLING_POSTPAID_MAX_ACTIVE,
  }
}

/** What Stripe is reached with, or null where the sandbox takes its place; a problem for each setting that it lacks. */
function readStripe(settings: Settings, problems: string[]): BillingConfig['stripe'] {
  if (settings.BILLING_PROCESSOR !== 'stripe') return null
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_PUBLISHABLE_KEY: publishableKey } = settings
  const webhookSecret = settings.STRIPE_WEBHOOK_SECRET
  for (const name of ['STRIPE_SECRET_KEY', 'STRIPE_PUBLISHABLE_KEY', 'STRIPE_WEBHOOK_SECRET'] as const) {
    if (settings[name] === undefined)
      problems.push(`${name}: BILLING_PROCESSOR=stripe needs it; it stands in Stripe's dashboard`)
  }
  if (secretKey === undefined || publishableKey === undefined || webhookSecret === undefined) return null
  if (secretKey.split('_')[1] !== publishableKey.split('_')[1]) {
    problems.push('STRIPE_PUBLISHABLE_KEY: it and STRIPE_SECRET_KEY must both be test keys or both live keys')
  }
  return { secretKey, publishableKey, webhookSecret }
}
