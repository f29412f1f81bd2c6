import type { Database } from '../../database/tables.ts'
import type { Actor } from '../../viewer.ts'

/** The visitor as this user, for the audit log of a request that proves who its caller is. */
export async function identifyActor(
  db: Database,
  visitor: Actor,
  userId: number,
): Promise<Actor & { userId: number; email: string }> {
  const user = await db
    .selectFrom('users')
    .select(['id as userId', 'email', 'current_organization_id as organizationId'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  return { ...visitor, ...user }
}
