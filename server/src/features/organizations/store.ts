import { randomBytes } from 'node:crypto'
import slugify from '@sindresorhus/slugify'
import type { Database } from '../../database/tables.ts'

const slugLength = 60

/** Inserts an organization; its slug is its name made readable for an address, with a suffix where that one is taken. */
export async function insertOrganization(db: Database, name: string): Promise<number> {
  const base = slugify(name).slice(0, slugLength).replace(/-$/, '') || 'organization'
  for (let slug = base; ; slug = `${base}-${randomBytes(4).toString('hex')}`) {
    const inserted = await db
      .insertInto('organizations')
      .values({ name, slug })
      .onConflict((conflict) => conflict.column('slug').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (inserted !== undefined) return inserted.id
  }
}
