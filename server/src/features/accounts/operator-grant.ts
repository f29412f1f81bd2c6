import type { Actor } from '../../base/viewer.ts'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { recordAction } from '../audit/record-action.ts'

/** Lets a person see the whole installation; false if they may already. */
export async function grantOperator(
  transaction: DatabaseTransaction,
  actor: Actor,
  user: { id: number; email: string; organizationId: number },
  at: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable('users')
    .set({ operator_since: at })
    .where('id', '=', user.id)
    .where('operator_since', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await record(transaction, actor, 'user.operator_granted', user)
  return true
}

/** Ends the grant of a person, before what ends their account; false without one. */
export async function revokeOperator(
  transaction: DatabaseTransaction,
  actor: Actor,
  userId: number,
): Promise<boolean> {
  const user = await transaction
    .updateTable('users')
    .set({ operator_since: null })
    .where('id', '=', userId)
    .where('operator_since', 'is not', null)
    .returning(['id', 'email', 'current_organization_id as organizationId'])
    .executeTakeFirst()
  if (user === undefined) return false
  await record(transaction, actor, 'user.operator_revoked', user)
  return true
}

function record(
  transaction: DatabaseTransaction,
  actor: Actor,
  action: 'user.operator_granted' | 'user.operator_revoked',
  { id, email, organizationId }: { id: number; email: string; organizationId: number },
): Promise<void> {
  return recordAction(transaction, actor, action, {
    organizationId,
    target: { type: 'user', id, name: email },
    details: { by: actor.email },
  })
}

/** The people who may see the whole installation, the first one first. */
export function listOperators(db: Database) {
  return db
    .selectFrom('users')
    .select(['id', 'email', 'name', 'operator_since as since'])
    .where('operator_since', 'is not', null)
    .orderBy('operator_since')
    .execute()
}
