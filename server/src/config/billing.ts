import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { duration, oneOf, wholeNumber } from './values.ts'

/** The payment processor, and the limits of an organization in its trial and with a subscription. */
export interface BillingConfig {
  /** false: usage is counted, without payments and trials */
  isOn: boolean
  /** null for the payment sandbox, which makes no real charges */
  stripe: { secretKey: string; publishableKey: string; webhookSecret: string } | null
  /** Lowercase code of the currency of all prices and accounts */
  currency: string
  /** false to require a subscription for every deployment */
  trial: boolean
  /** Credit of a trial, a decimal string in the currency's main unit */
  trialCredit: string
  /** Milliseconds from the end of a trial's credit to the end of its deployments */
  trialGraceMilliseconds: number
  /** Maximum active deployments in a trial */
  trialMaxActive: number
  /** Maximum active deployments with a subscription */
  postpaidMaxActive: number
}

/** The settings of billing and of the payment processor. */
export const billingSettings = {
  BILLING: oneOf(['on', 'off']).default('on'),
  BILLING_PROCESSOR: oneOf(['sandbox', 'stripe']).default('sandbox'),
  STRIPE_SECRET_KEY: z
    .string()
    .trim()
    .regex(/^(sk|rk)_(test|live)_\w+$/, 'must be a Stripe secret key, which starts with sk_ or rk_')
    .optional(),
  STRIPE_PUBLISHABLE_KEY: z
    .string()
    .trim()
    .regex(/^pk_(test|live)_\w+$/, 'must be a Stripe publishable key, which starts with pk_')
    .optional(),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .trim()
    .regex(/^whsec_\w+$/, 'must be the signing secret of the webhook endpoint, which starts with whsec_')
    .optional(),
  BILLING_TRIAL: oneOf(['on', 'off']).default('on'),
  BILLING_TRIAL_CREDIT: z
    .string()
    .trim()
    .regex(/^\d{1,9}(\.\d{1,6})?$/, 'must be an amount such as 10.00')
    .default('10.00'),
  BILLING_TRIAL_GRACE: duration({ least: '0s', most: '365d' }).prefault('1h'),
  BILLING_TRIAL_MAX_ACTIVE: wholeNumber(0, 1_000_000).default(10),
  BILLING_POSTPAID_MAX_ACTIVE: wholeNumber(0, 1_000_000).default(20),
}

type Settings = z.output<z.ZodObject<typeof billingSettings>>

/** Combines the billing settings and adds a problem for each missing one. */
export function readBilling(
  settings: Settings,
  instanceTypesFile: string,
  problems: string[],
): BillingConfig {
  return {
    isOn: settings.BILLING === 'on',
    stripe: readStripe(settings, problems),
    currency: readCurrency(instanceTypesFile, problems),
    trial: settings.BILLING === 'on' && settings.BILLING_TRIAL === 'on',
    trialCredit: settings.BILLING_TRIAL_CREDIT,
    trialGraceMilliseconds: settings.BILLING_TRIAL_GRACE,
    trialMaxActive: settings.BILLING_TRIAL_MAX_ACTIVE,
    postpaidMaxActive: settings.BILLING_POSTPAID_MAX_ACTIVE,
  }
}

/** The currency of the instance type file, which all prices have. */
function readCurrency(instanceTypesFile: string, problems: string[]): string {
  try {
    const [, currency] = /^currency: *["']?([a-z]{3})\b/m.exec(readFileSync(instanceTypesFile, 'utf8')) ?? []
    if (currency !== undefined) return currency
    problems.push(
      `INSTANCE_TYPES_FILE: ${instanceTypesFile} needs a line with a currency, such as "currency: usd"`,
    )
  } catch (error) {
    problems.push(
      `INSTANCE_TYPES_FILE: ${instanceTypesFile} could not be read (${String(error)}); correct the path`,
    )
  }
  return ''
}

/** Returns Stripe's keys, or null for the sandbox. Adds a problem for each missing key. */
function readStripe(settings: Settings, problems: string[]): BillingConfig['stripe'] {
  if (settings.BILLING_PROCESSOR !== 'stripe') return null
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_PUBLISHABLE_KEY: publishableKey } = settings
  const webhookSecret = settings.STRIPE_WEBHOOK_SECRET
  for (const name of ['STRIPE_SECRET_KEY', 'STRIPE_PUBLISHABLE_KEY', 'STRIPE_WEBHOOK_SECRET'] as const) {
    if (settings[name] === undefined)
      problems.push(`${name}: required with BILLING_PROCESSOR=stripe; copy it from Stripe's dashboard`)
  }
  if (secretKey === undefined || publishableKey === undefined || webhookSecret === undefined) return null
  if (secretKey.split('_')[1] !== publishableKey.split('_')[1]) {
    problems.push(
      'STRIPE_PUBLISHABLE_KEY: must be a key of the same mode as STRIPE_SECRET_KEY; use two test keys or two live keys',
    )
  }
  return { secretKey, publishableKey, webhookSecret }
}
