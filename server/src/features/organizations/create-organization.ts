import { randomBytes } from 'node:crypto'
import slugify from '@sindresorhus/slugify'
import type { Database } from '../../database/tables.ts'

const slugLength = 60

/** Creates an organization and returns its id. A slug that is taken gets a random suffix. */
export async function createOrganization(db: Database, name: string): Promise<number> {
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

/** Names a person's organization by their name or the first part of their email. */
export function nameOrganizationOf(owner: string): string {
  return `${Array.from(owner).slice(0, 200).join('')}’s organization`
}
