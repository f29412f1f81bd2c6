import { sql } from 'kysely'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'

/** The viewer's profile. */
export function getProfile({ db }: Pick<Services, 'db'>, viewer: Viewer) {
  return db
    .selectFrom('users')
    .select(['email', 'name', 'first_name', 'last_name', 'country', 'contact_number', 'created_at'])
    .select(sql<boolean>`password_hash IS NOT NULL`.as('has_password'))
    .where('id', '=', viewer.userId)
    .executeTakeFirstOrThrow()
}
