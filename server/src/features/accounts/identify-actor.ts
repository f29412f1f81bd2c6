import type { Database } from '../../database/tables.ts'
import type { Actor } from '../../base/viewer.ts'

/** The visitor as an actor with this user's id, for requests that have just proven their caller. */
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
