import { isDeepStrictEqual } from 'node:util'
import type { Services } from '../../../services.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { ProcessorSubscription } from '../../../ports/payment-processor.ts'
import { serverActor } from '../../../base/viewer.ts'
import type { Actor } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { startCharging } from '../../metering/spans.ts'
import { leaseUnavailable, withLease } from '../account/account-lease.ts'
import { deriveAccountState, isReflected } from '../account/account-state.ts'
import type { SyncedState } from '../account/account-state.ts'
import { finishActivations } from './activation-store.ts'
import { makeOnlyCardDefault } from './make-only-card-default.ts'
import { lockLeasedAccount, readDatabaseClock, updateAccount } from '../account/store.ts'
import type { AccountChanges, AccountLease, BillingAccount } from '../account/store.ts'

/**
 * Applies the subscription as of `readAt` and completes pending activations. `actor` made the change, by
 * default the server. Throws `billing_change_in_progress` when the lease has expired.
 */
export async function applySubscription(
  { db, config, clock }: Pick<Services, 'db' | 'config' | 'clock'>,
  lease: AccountLease,
  subscription: ProcessorSubscription | null,
  options: {
    readAt?: Date | undefined
    actor?: Actor | undefined
  } = {},
): Promise<BillingAccount> {
  const { readAt, actor = serverActor } = options
  return db.transaction().execute(async (transaction) => {
    const account = await lockLeasedAccount(transaction, lease)
    if (account === undefined) throw leaseUnavailable()
    const state = deriveAccountState(account, subscription, config.billing)
    if (account.postpaid_since === null && state.postpaid_since !== null) {
      const { organization_id: organizationId } = account
      state.postpaid_since = await startCharging(transaction, organizationId, state.postpaid_since)
    }
    const changes = changesOf(account, {
      ...state,
      ...deriveAutoCharge(account, state, clock(), actor.userId),
      ...(await finishActivations(transaction, state, account, clock())),
    })
    if (readAt !== undefined) {
      await transaction
        .updateTable('billing_accounts')
        .set({ synced_at: readAt })
        .where('id', '=', account.id)
        .execute()
    }
    if (changes === null) return account
    await recordChanges(transaction, actor, account, changes)
    return updateAccount(transaction, account.id, changes, clock())
  })
}

/** The changes that people ask about later; the other fields mirror the processor's. */
const recordedFields = ['billing_mode', 'status', 'subscription_status', 'collection_method'] as const

async function recordChanges(
  transaction: DatabaseTransaction,
  actor: Actor,
  account: BillingAccount,
  changes: AccountChanges,
): Promise<void> {
  const details = recordedFields.flatMap((field) =>
    changes[field] === undefined ? [] : [[field, { from: account[field], to: changes[field] }]],
  )
  if (details.length === 0) return
  const { organization_id: organizationId } = account
  const target = { type: 'organization', id: organizationId } as const
  await recordAction(transaction, actor, 'billing_account.changed', {
    organizationId,
    target,
    details: Object.fromEntries(details),
  })
}

/** Since when the card is charged automatically, and the user who set it; null if set at the processor. */
function deriveAutoCharge(
  account: BillingAccount,
  { collection_method: method }: SyncedState,
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

/** The fields that differ from the account's; null when all are equal. */
function changesOf(account: BillingAccount, fields: AccountChanges): AccountChanges | null {
  const changed = Object.entries(fields).filter(
    ([name, value]) => !isDeepStrictEqual(value, account[name as keyof BillingAccount]),
  )
  return changed.length === 0 ? null : Object.fromEntries(changed)
}

/** Syncs an account with the processor, unless its last sync is later than `eventReceivedAt`. */
export async function syncAccount(
  deps: Pick<Services, 'db' | 'config' | 'clock' | 'payments'>,
  accountId: number,
  eventReceivedAt: Date | null = null,
): Promise<BillingAccount> {
  const { db, payments } = deps
  return withLease(deps, accountId, async (account, lease) => {
    const { processor_customer_id: customerId, synced_at: syncedAt } = account
    if (customerId === null) return account
    if (eventReceivedAt !== null && isReflected(eventReceivedAt, syncedAt)) return account
    await makeOnlyCardDefault(deps, customerId)
    const readAt = await readDatabaseClock(db)
    return applySubscription(deps, lease, await payments.findSubscription(customerId), { readAt })
  })
}
