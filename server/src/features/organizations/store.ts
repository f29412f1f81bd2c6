import type { Database } from '../../database/tables.ts'

/** Inserts an organization and returns its id, or null when the slug is taken. */
export async function insertOrganization(
  db: Database,
  organization: { name: string; slug: string },
): Promise<number | null> {
  const inserted = await db
    .insertInto('organizations')
    .values(organization)
    .onConflict((conflict) => conflict.column('slug').doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted?.id ?? null
}
