import type { Logger } from 'pino'
import { ApplicationError } from '../../../base/errors.ts'
import type { Config } from '../../../config/config.ts'
import { findShortage, overloaded } from '../../../base/local-shortage.ts'
import type { BillingAccount } from './store.ts'

/** The reasons that block a new deployment; each is a 409 with its key as the code. */
const blocks = {
  resource_limit_reached:
    'The organization’s deployments may have as many instances as its limit. Delete a deployment, lower its most instances, or activate billing.',
  trial_credit_exhausted: 'The trial credit is used up. Activate billing to deploy more.',
  payment_past_due: 'A payment is past due. Pay the open invoice or change the card to deploy more.',
  account_suspended: 'The billing account is suspended or closed.',
  billing_not_activated: 'Billing is not activated. Activate it first.',
} as const

export type BillingBlock = keyof typeof blocks

export function blocked(code: BillingBlock): ApplicationError {
  return new ApplicationError(code, blocks[code])
}

export function assertAccountOpen({ status }: Pick<BillingAccount, 'status'>): void {
  if (status === 'suspended' || status === 'closed') throw blocked('account_suspended')
}

/** Throws `billing_off` without billing. */
export function assertBillingOn({ billing }: Pick<Config, 'billing'>): void {
  if (!billing.isOn) throw new ApplicationError('billing_off', 'Billing is off on this server: nobody pays.')
}

/** Calls the processor. Its errors are logged and rethrown as a 503 `payment_processor_unavailable`. */
export async function callProcessor<Result>(log: Logger, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof ApplicationError) throw error
    throw processorUnavailable(log, error)
  }
}

/** Logs an error of the processor and returns one without its details for the caller. */
export function processorUnavailable(log: Logger, error: unknown): ApplicationError {
  const shortage = findShortage(error)
  if (shortage !== null) return overloaded(shortage)
  log.error({ err: error }, 'the payment processor returned an error')
  return new ApplicationError(
    'payment_processor_unavailable',
    'The payment processor is unavailable or returned an error. Try again in a moment.',
    5,
  )
}
