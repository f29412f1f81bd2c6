import type { Selectable } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import { isLive } from '../account/account-state.ts'
import type { SyncedState } from '../account/account-state.ts'
import type { AccountChanges, BillingAccount } from '../account/store.ts'
import type { BillingActivationsTable } from '../account/tables.ts'

export type Activation = Selectable<BillingActivationsTable>

export function findActivation(db: Database, id: string): Promise<Activation | undefined> {
  return db.selectFrom('billing_activations').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The unfinished activation of an account. */
export function findPendingActivation(db: Database, accountId: number): Promise<Activation | undefined> {
  return db
    .selectFrom('billing_activations')
    .selectAll()
    .where('billing_account_id', '=', accountId)
    .where('status', '=', 'pending')
    .executeTakeFirst()
}

export function insertActivation(
  db: Database,
  activation: { accountId: number; cardId: string; userId: number; at: Date },
): Promise<Activation> {
  return db
    .insertInto('billing_activations')
    .values({
      id: uuidv7(),
      billing_account_id: activation.accountId,
      processor_payment_method_id: activation.cardId,
      user_id: activation.userId,
      created_at: activation.at,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Completes pending activations of an account with a live subscription; returns its auto-charge fields. */
export async function finishActivations(
  transaction: DatabaseTransaction,
  state: SyncedState,
  { id }: BillingAccount,
  at: Date,
): Promise<AccountChanges> {
  if (!isLive(state.subscription_status)) return {}
  const done = await transaction
    .updateTable('billing_activations')
    .set({ status: 'done', finished_at: at })
    .where('billing_account_id', '=', id)
    .where('status', '=', 'pending')
    .returning('user_id')
    .executeTakeFirst()
  if (done === undefined) return {}
  return { auto_charge_enabled_at: at, auto_charge_enabled_by_user_id: done.user_id }
}
