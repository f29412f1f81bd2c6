import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { forgetNetworks } from './known-networks.ts'
import { insertUser } from './store.ts'
import type { NewUser } from './store.ts'

/** What admins decide about a service member, besides its role. */
export interface ServiceSettings {
  allowed_networks: readonly string[]
  /** Whether its inference requests may name the member they are for */
  may_name_members: boolean
  /** The header that does so besides `X-Berth-Member`, in lower case; null for none */
  member_header: string | null
}

/** Creates the account of a service member, without a password of a person. Returns its id. */
export async function createServiceAccount(
  transaction: DatabaseTransaction,
  account: Pick<NewUser, 'organizationId' | 'email' | 'name'>,
  settings: ServiceSettings,
  at: Date,
): Promise<number> {
  const { allowed_networks: allowedNetworks } = settings
  const nobody = { firstName: null, lastName: null, country: null, contactNumber: null }
  const user = { ...account, ...nobody, allowedNetworks, emailVerifiedAt: null, passwordHash: null }
  const id = await insertUser(transaction, user)
  await updateServiceAccount(transaction, id, settings, at)
  return id
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

/** Sets the networks that a service member works from, and its right to name members. */
export async function updateServiceAccount(
  transaction: DatabaseTransaction,
  userId: number,
  { allowed_networks, ...settings }: ServiceSettings,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ ...settings, allowed_networks: [...allowed_networks], updated_at: at })
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
