import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { RoleName } from '../../base/roles.ts'
import type { OrganizationsTable } from './tables.ts'

export type Organization = Selectable<OrganizationsTable>

/** Changes to an organization. Omitted fields are unchanged. */
export interface OrganizationChanges {
  name?: string | undefined
  description?: string | null | undefined
  requiresSecondFactor?: boolean | undefined
  allowExternal?: boolean | undefined
}

export function getOrganization(db: Database, id: number): Promise<Organization> {
  return db.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** Updates an organization; false if no value differs. */
export async function updateOrganization(
  db: Database,
  id: number,
  changes: OrganizationChanges,
  at: Date,
): Promise<boolean> {
  const { name, description, requiresSecondFactor, allowExternal } = changes
  const { numUpdatedRows } = await db
    .updateTable('organizations')
    .set({
      name,
      description,
      requires_second_factor: requiresSecondFactor,
      allow_external: allowExternal,
      updated_at: at,
    })
    .where('id', '=', id)
    .where((where) =>
      where.or([
        ...(name === undefined ? [] : [where('name', 'is distinct from', name)]),
        ...(description === undefined ? [] : [where('description', 'is distinct from', description)]),
        ...(requiresSecondFactor === undefined
          ? []
          : [where('requires_second_factor', '<>', requiresSecondFactor)]),
        ...(allowExternal === undefined ? [] : [where('allow_external', '<>', allowExternal)]),
      ]),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export interface OwnOrganization {
  id: number
  name: string
  slug: string
  role: RoleName
  /** What happens if the user deletes their account: `refuse` for the last super_admin of others */
  onAccountDeletion: 'leave' | 'close' | 'refuse'
}

/** The organizations that a user is a member of, sorted by name, ignoring case. */
export function listOwnOrganizations(db: Database, userId: number): Promise<OwnOrganization[]> {
  return db
    .selectFrom('memberships')
    .innerJoin('organizations', 'organizations.id', 'memberships.organization_id')
    .select(['organizations.id', 'organizations.name', 'organizations.slug', 'memberships.role'])
    .select(
      sql<OwnOrganization['onAccountDeletion']>`CASE
        WHEN NOT EXISTS (SELECT FROM memberships AS others JOIN users ON users.id = others.user_id
          WHERE others.organization_id = organizations.id AND others.id <> memberships.id AND users.allowed_networks IS NULL)
          THEN 'close'
        WHEN memberships.role = 'super_admin' AND NOT EXISTS (SELECT FROM memberships AS others
          WHERE others.organization_id = organizations.id AND others.id <> memberships.id AND others.role = 'super_admin')
          THEN 'refuse'
        ELSE 'leave' END`.as('onAccountDeletion'),
    )
    .where('memberships.user_id', '=', userId)
    .orderBy(sql`lower(organizations.name)`)
    .orderBy('organizations.id')
    .execute()
}
