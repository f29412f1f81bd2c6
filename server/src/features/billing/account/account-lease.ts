import { setTimeout as delay } from 'node:timers/promises'
import type { Services } from '../../../services.ts'
import { ApplicationError } from '../../../base/errors.ts'
import { acquireLease, releaseLease } from './store.ts'
import type { AccountLease, BillingAccount } from './store.ts'

/** Longer than the processor calls under one lease take in total, unless the processor is down. */
const leaseSeconds = 90
const maxWaitMilliseconds = 10_000
const pollMilliseconds = 50

/**
 * Runs `work` under the account's lease, so that one process at a time calls the processor for an account
 * without holding a transaction open. A crashed process's lease expires. Throws `billing_change_in_progress`
 * after ten seconds.
 */
export async function withLease<Result>(
  { db }: Pick<Services, 'db'>,
  accountId: number,
  work: (account: BillingAccount, lease: AccountLease) => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + maxWaitMilliseconds
  let account = await acquireLease(db, accountId, leaseSeconds)
  while (account === undefined) {
    if (performance.now() > deadline) throw leaseUnavailable()
    await delay(pollMilliseconds)
    account = await acquireLease(db, accountId, leaseSeconds)
  }
  const lease = { accountId, number: account.lease_number }
  try {
    return await work(account, lease)
  } finally {
    await releaseLease(db, lease)
  }
}

export function leaseUnavailable(): ApplicationError {
  return new ApplicationError(
    'billing_change_in_progress',
    'Another change to this billing account is in progress. Try again in a moment.',
    10,
  )
}
