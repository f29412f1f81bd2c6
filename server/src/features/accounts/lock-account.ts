import { sql } from 'kysely'
import type { DatabaseTransaction } from '../../database/tables.ts'

/** Locks an account against changes by other transactions until this one ends, and returns it. */
export function lockAccount(transaction: DatabaseTransaction, userId: number) {
  return transaction
    .selectFrom('users')
    .select(['id', 'email', 'email_verified_at', 'current_organization_id'])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

/** Like `lockAccount`, but returns undefined for an account that does not exist or was deleted. */
export function lockExistingAccount(transaction: DatabaseTransaction, userId: number) {
  return transaction
    .selectFrom('users')
    .select(['email', 'current_organization_id as organizationId'])
    .where('id', '=', userId)
    .where('deleted_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Finds an account by email and locks it until the transaction ends. */
export function lockAccountByEmail(transaction: DatabaseTransaction, email: string) {
  return transaction
    .selectFrom('users')
    .select(['id', 'email', 'email_verified_at', 'current_organization_id', 'allowed_networks'])
    .where(sql`lower(email)`, '=', sql<string>`lower(${email})`)
    .forUpdate()
    .executeTakeFirst()
}
