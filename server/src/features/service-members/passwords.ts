import { randomBytes } from 'node:crypto'
import { hashToken } from '../../base/hash-token.ts'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'

/** A right password of a service member. */
export interface ServicePassword {
  digest: Buffer
  /** When it stops working; null for the current one */
  endsAt: Date | null
}

/** Gives a service member a new password and returns it. It must have no current one. */
export async function issuePassword(
  transaction: DatabaseTransaction,
  userId: number,
  at: Date,
): Promise<string> {
  // The beginning lets scanners of secrets recognize it.
  const password = `berth_service_${randomBytes(32).toString('base64url')}`
  await transaction
    .insertInto('service_passwords')
    .values({ user_id: userId, digest: hashToken(password), created_at: at, ends_at: null })
    .execute()
  return password
}

/** Ends passwords at `end` if they would last longer, and deletes those that have ended. */
export async function endPasswords(
  transaction: DatabaseTransaction,
  userId: number,
  { at, end }: { at: Date; end: Date },
): Promise<void> {
  await transaction
    .deleteFrom('service_passwords')
    .where('user_id', '=', userId)
    .where((where) => (end > at ? where('ends_at', '<=', at) : where.lit(true)))
    .execute()
  await transaction
    .updateTable('service_passwords')
    .set({ ends_at: end })
    .where('user_id', '=', userId)
    .where('ends_at', 'is', null)
    .execute()
}

/** Finds a password of a service member that works now; null if it is wrong or has ended. */
export async function findServicePassword(
  db: Database,
  userId: number,
  password: string,
  now: Date,
): Promise<ServicePassword | null> {
  const found = await selectPassword(db, userId, hashToken(password), now).executeTakeFirst()
  return found ?? null
}

/** Locks a password of a service member until the transaction ends; false if it no longer works. */
export async function lockServicePassword(
  transaction: DatabaseTransaction,
  userId: number,
  { digest }: ServicePassword,
  now: Date,
): Promise<boolean> {
  const found = await selectPassword(transaction, userId, digest, now).forShare().executeTakeFirst()
  return found !== undefined
}

function selectPassword(db: Database, userId: number, digest: Buffer, now: Date) {
  return db
    .selectFrom('service_passwords')
    .select(['digest', 'ends_at as endsAt'])
    .where('user_id', '=', userId)
    .where('digest', '=', digest)
    .where((where) => where.or([where('ends_at', 'is', null), where('ends_at', '>', now)]))
}
