import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'

/** Lowercases an email as the unique index does. Only the database decides which emails are equal. */
export async function foldEmail(db: Database, email: string): Promise<string> {
  const { rows } = await sql<{ folded: string }>`SELECT lower(${email}) AS folded`.execute(db)
  return rows[0]!.folded
}

export function findAccountByEmail(db: Database, email: string) {
  return db
    .selectFrom('users')
    .select(['id', 'email', 'email_verified_at', 'password_hash', 'allowed_networks'])
    .select(['current_organization_id', 'disabled_at'])
    .where(sql`lower(email)`, '=', sql<string>`lower(${email})`)
    .executeTakeFirst()
}

/** Whether any account exists. */
export async function hasAccounts(db: Database): Promise<boolean> {
  return (await db.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** The email of an account; undefined if it doesn't exist. */
export async function findAccountEmail(db: Database, userId: number): Promise<string | undefined> {
  const user = await db.selectFrom('users').select('email').where('id', '=', userId).executeTakeFirst()
  return user?.email
}
