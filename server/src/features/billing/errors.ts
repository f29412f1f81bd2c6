import type { Logger } from 'pino'
import { ApplicationError } from '../../errors.ts'
import type { BillingAccount } from './store.ts'

/** Why creating a deployment is refused; each is a 409 with this code. */
const blocks = {
  resource_limit_reached:
    'The organization has as many deployments as it may have at a time: delete one, or activate billing.',
  trial_credit_exhausted: 'The credit of the trial is used up: activate billing to deploy more.',
  payment_past_due: 'A payment is late: pay the open invoice or change the card to deploy more.',
  account_suspended: 'The billing account is suspended or closed.',
  billing_not_activated: 'Activate billing first.',
} as const

export type BillingBlock = keyof typeof blocks

export function blocked(code: BillingBlock): ApplicationError {
  return new ApplicationError('conflict', code, blocks[code])
}

export function assertAccountOpen({ status }: Pick<BillingAccount, 'status'>): void {
  if (status === 'suspended' || status === 'closed') throw blocked('account_suspended')
}

/** Asks the processor; a fault of it or of the way there is a 503 for the caller and a line in the log. */
export async function callProcessor<Result>(log: Logger, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ApplicationError) throw error
    throw processorUnavailable(log, error)
  }
}

/** Writes a fault of the processor into the log; what is returned tells the caller nothing of it. */
export function processorUnavailable(log: Logger, error: unknown): ApplicationError {
  log.error({ err: error }, 'the payment processor did not do what it was asked')
  return new ApplicationError(
    'unavailable',
    'payment_processor_unavailable',
    'The payment processor can’t be reached, or can’t do this now. Try again in a moment.',
    5,
  )
}
