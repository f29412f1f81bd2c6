import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Application } from '../../application.ts'
import { ApplicationError } from '../../errors.ts'
import type { ProcessorSubscription } from '../../ports/payment-processor.ts'
import { followProcessor, isCovered } from './account-state.ts'
import type { FollowingState } from './account-state.ts'
import { finishActivations } from './activation-store.ts'
import { lockLeased, readDatabaseClock, returnLease, saveAccount, setSyncedAt, takeLease } from './store.ts'
import type { AccountChanges, AccountLease, BillingAccount } from './store.ts'

/** Longer than the calls that are made under one lease take together, when the processor answers at all. */
const leaseSeconds = 90
const patienceMilliseconds = 10_000
const pollMilliseconds = 50

/**
 * Does `work` as the only one in all processes that speaks with the processor about an account, without a transaction held open
 * meanwhile. A process that dies at it leaves the lease to run out; who waits too long is told to come back.
 */
export async function withLease<Result>(
  { db }: Pick<Application, 'db'>,
  accountId: number,
  work: (account: BillingAccount, lease: AccountLease) => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + patienceMilliseconds
  let account = await takeLease(db, accountId, leaseSeconds)
  while (account === undefined) {
    if (performance.now() > deadline) throw busy()
    await delay(pollMilliseconds)
    account = await takeLease(db, accountId, leaseSeconds)
  }
  const lease = { accountId, number: account.lease_number }
  try {
    return await work(account, lease)
  } finally {
    await returnLease(db, lease)
  }
}

function busy(): ApplicationError {
  return new ApplicationError(
    'unavailable',
    'billing_busy',
    'Something else is being done with this account. Try again in a moment.',
    10,
  )
}

/** Writes what the processor has into the account and ends activations that came true by it; `userId`: who asked for it. */
export async function applySubscription(
  { db, config, clock }: Pick<Application, 'db' | 'config' | 'clock'>,
  lease: AccountLease,
  subscription: ProcessorSubscription | null,
  options: {
    askedAt?: Date | undefined
    userId?: number | undefined
  } = {},
): Promise<BillingAccount> {
  return db.transaction().execute(async (transaction) => {
    const account = await lockLeased(transaction, lease)
    if (account === undefined) throw busy()
    const followed = followProcessor(account, subscription, config.billing)
    const changes = changesOf(account, {
      ...followed,
      ...followCharging(account, followed, clock(), options.userId ?? null),
      ...(await finishActivations(transaction, followed, account, clock())),
    })
    if (options.askedAt !== undefined) await setSyncedAt(transaction, account.id, options.askedAt)
    if (changes === null) return account
    return saveAccount(transaction, account.id, changes, clock())
  })
}

/**
 * Since when the card is charged and by whom, by what the processor has: whoever changed it there, and whatever died before it was
 * written here. Nobody is known for what was changed in the processor's own pages.
 */
function followCharging(
  account: BillingAccount,
  { collection_method: method }: FollowingState,
  now: Date,
  userId: number | null,
): AccountChanges {
  if (method === null) return {}
  const isCharged = method === 'charge_automatically'
  return {
    auto_charge_enabled_at: isCharged ? (account.auto_charge_enabled_at ?? now) : null,
    auto_charge_enabled_by_user_id: isCharged ? (account.auto_charge_enabled_by_user_id ?? userId) : null,
  }
}

/** Those of the fields that an account does not have so already; null for none. */
function changesOf(account: BillingAccount, fields: AccountChanges): AccountChanges | null {
  const changed = Object.entries(fields).filter(
    ([name, value]) => !isDeepStrictEqual(value, account[name as keyof BillingAccount]),
  )
  return changed.length === 0 ? null : Object.fromEntries(changed)
}

/** Brings an account in line with the processor, unless it was asked after `unlessAskedSince`. */
export async function followAccount(
  application: Pick<Application, 'db' | 'config' | 'clock' | 'payments'>,
  accountId: number,
  unlessAskedSince: Date | null = null,
): Promise<BillingAccount> {
  const { db, payments } = application
  return withLease(application, accountId, async (account, lease) => {
    const { processor_customer_id: customerId, synced_at: syncedAt } = account
    if (customerId === null) return account
    if (unlessAskedSince !== null && isCovered(unlessAskedSince, syncedAt)) return account
    const askedAt = await readDatabaseClock(db)
    return applySubscription(application, lease, await payments.findSubscription(customerId), { askedAt })
  })
}
