import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Person } from '../../base/viewer.ts'
import { foldsIntoAscii } from '../accounts/email-folding.ts'
import { memberships, toPerson } from './store.ts'

/** How a program names a person: by the id of their account, or by their email. */
export type MemberKey = { userId: number } | { email: string }

/** The member whom a program of an organization names; null for anybody else. */
export async function findNamedMember(
  db: Database,
  organizationId: number,
  key: MemberKey,
): Promise<Person | null> {
  if ('email' in key && foldsIntoAscii(key.email)) return null
  const row = await selectMembers(db, organizationId)
    .where((where) =>
      'email' in key
        ? where(sql`lower(users.email)`, '=', sql<string>`lower(${key.email})`)
        : where('users.id', '=', key.userId),
    )
    .executeTakeFirst()
  return row === undefined ? null : toMember(row)
}

/** Those of the users who are still members of the organization, by their ids. */
export async function listNamedMembers(
  db: Database,
  organizationId: number,
  userIds: readonly number[],
): Promise<Map<number, Person>> {
  const rows = await selectMembers(db, organizationId).where('users.id', 'in', userIds).execute()
  return new Map(rows.map((row) => [row.user_id, toMember(row)]))
}

/** The people of an organization, without its programs. */
function selectMembers(db: Database, organizationId: number) {
  return db
    .selectFrom('users')
    .innerJoin('memberships as own', 'own.user_id', 'users.id')
    .select(['users.id as user_id', 'own.organization_id as current_organization_id', 'users.disabled_at'])
    .select([memberships.as('memberships')])
    .where('own.organization_id', '=', organizationId)
    .where('users.allowed_networks', 'is', null)
}

type MemberRow = Awaited<ReturnType<ReturnType<typeof selectMembers>['execute']>>[number]

/** The program's sign-in stands for a second factor. A disabled account may do nothing. */
function toMember({ disabled_at: disabledAt, ...row }: MemberRow): Person {
  const person = toPerson({ ...row, lacks_second_factor: false })
  const { organizationId } = person
  const standings = person.standings.filter((each) => each.organizationId === organizationId)
  return { ...person, standings: disabledAt === null ? standings : [] }
}
