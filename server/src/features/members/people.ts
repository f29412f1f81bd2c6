import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { roleCan } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import { escapeLike } from '../../database/escape-like.ts'
import type { Database } from '../../database/tables.ts'

export const peopleKinds = ['member', 'service', 'invitation'] as const

/** Who belongs to an organization, or is invited to it. */
export interface Person {
  kind: (typeof peopleKinds)[number]
  /** Of the membership, or of the invitation */
  id: number
  /** null for an invitation */
  user_id: number | null
  /** null for an invitation */
  name: string | null
  email: string
  role: RoleName
  /** null for an invitation, for a program, and of others for those who don't manage members */
  second_factor: boolean | null
  /** The hour of the latest request */
  last_active_at: Date | null
  joined_at: Date | null
}

export interface PeopleFilter {
  /** In the name or the email */
  search: string | null
  role: RoleName | null
  kind: Person['kind'] | null
}

/** What the list can be sorted by. Equal ones are sorted by their names. */
export const peopleOrders = ['name', 'kind', 'role', 'last_active_at', 'joined_at'] as const

export interface PeopleOrder {
  by: (typeof peopleOrders)[number]
  descending: boolean
}

const orderings = {
  name: sql`lower(coalesce(name, email))`,
  kind: sql`array_position(ARRAY['invitation', 'member', 'service'], kind)`,
  role: sql`array_position(ARRAY['super_admin', 'admin', 'member', 'viewer'], role)`,
  last_active_at: sql`last_active_at`,
  joined_at: sql`joined_at`,
} as const satisfies Record<PeopleOrder['by'], unknown>

/** A page of the people and programs of the viewer's organization, with open invitations for admins. */
export async function listPeople(
  db: Database,
  viewer: Viewer,
  filter: PeopleFilter,
  order: PeopleOrder,
  { limit, offset, at }: { limit: number; offset: number; at: Date },
): Promise<{ items: Person[]; total: number }> {
  const people = selectPeople(viewer, filter, at)
  const direction = order.descending ? sql`DESC NULLS LAST` : sql`ASC NULLS LAST`
  const [{ rows: items }, { rows: counts }] = await Promise.all([
    sql<Person>`SELECT * FROM ${people} ORDER BY ${orderings[order.by]} ${direction}, ${orderings.name}, kind, id
      LIMIT ${limit} OFFSET ${offset}`.execute(db),
    sql<{ total: number }>`SELECT count(*) AS total FROM ${people}`.execute(db),
  ])
  return { items, total: counts[0]!.total }
}

function selectPeople(
  { organizationId, userId, role }: Viewer,
  filter: PeopleFilter,
  at: Date,
): RawBuilder<unknown> {
  const pattern = sql`'%' || ${escapeLike(filter.search ?? '')} || '%'`
  const isShown = sql`${roleCan(role, 'manageMembers')} OR users.id = ${userId}`
  const mayInvite = roleCan(role, 'manageInvitations')
  return sql`(
    SELECT * FROM (
      SELECT CASE WHEN allowed_networks IS NULL THEN 'member' ELSE 'service' END AS kind, memberships.id,
        users.id AS user_id, users.name, users.email, memberships.role,
        CASE WHEN allowed_networks IS NULL AND (${isShown}) THEN
          EXISTS (SELECT FROM totp_factors WHERE user_id = users.id AND verified_at IS NOT NULL)
          OR EXISTS (SELECT FROM passkeys WHERE user_id = users.id) END AS second_factor,
        CASE WHEN ${isShown} THEN last_active_at END AS last_active_at,
        CASE WHEN ${isShown} THEN joined_at END AS joined_at
      FROM memberships JOIN users ON users.id = memberships.user_id
      WHERE memberships.organization_id = ${organizationId}
      UNION ALL
      SELECT 'invitation', id, NULL, NULL, invitee_email, role, NULL, NULL, NULL FROM invitations
      WHERE ${mayInvite} AND organization_id = ${organizationId} AND status = 'pending' AND expires_at > ${at}
    ) AS everybody
    WHERE (${filter.search === null} OR name ILIKE ${pattern} OR email ILIKE ${pattern})
      AND (${filter.role === null} OR role = ${filter.role}) AND (${filter.kind === null} OR kind = ${filter.kind})
  ) AS people`
}
