import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { forgetNetworks } from './known-networks.ts'
import { insertUser } from './store.ts'
import type { NewUser } from './store.ts'

/** Creates the account of a service member, without a password of a person. Returns its id. */
export function createServiceAccount(
  transaction: DatabaseTransaction,
  account: Pick<NewUser, 'organizationId' | 'email' | 'name'> & { allowedNetworks: readonly string[] },
): Promise<number> {
  const nobody = { firstName: null, lastName: null, country: null, contactNumber: null }
  return insertUser(transaction, { ...account, ...nobody, emailVerifiedAt: null, passwordHash: null })
}

/** True for the email of a service member. */
export async function isServiceEmail(db: Database, email: string): Promise<boolean> {
  const service = await db
    .selectFrom('users')
    .select('id')
    .where(sql`lower(email)`, '=', sql<string>`lower(${email})`)
    .where('allowed_networks', 'is not', null)
    .executeTakeFirst()
  return service !== undefined
}

/** Sets the networks that a service member works from. */
export async function setAllowedNetworks(
  transaction: DatabaseTransaction,
  userId: number,
  networks: readonly string[],
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ allowed_networks: [...networks], updated_at: at })
    .where('id', '=', userId)
    .execute()
}

/** Marks a service member's account as deleted. Usage and the audit log still show its name. */
export async function markServiceDeleted(
  transaction: DatabaseTransaction,
  userId: number,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ deleted_at: at, updated_at: at })
    .where('id', '=', userId)
    .execute()
  await forgetNetworks(transaction, userId)
}
