import { sql } from 'kysely'
import { NotFoundError } from '../../base/errors.ts'
import type { Database } from '../../database/tables.ts'

const mostRows = 100

/** Organizations whose id, slug or name matches `text`, newest first. */
export function findOrganizations(db: Database, text: string) {
  return db
    .selectFrom('organizations')
    .leftJoin('billing_accounts as account', 'account.organization_id', 'organizations.id')
    .select(['organizations.id', 'organizations.name', 'organizations.status', 'account.billing_mode'])
    .select('account.max_active_resources as limit')
    .select((select) =>
      select
        .selectFrom('memberships')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('memberships.organization_id', '=', 'organizations.id')
        .as('members'),
    )
    .select((select) =>
      select
        .selectFrom('deployments')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('deployments.organization_id', '=', 'organizations.id')
        .where('deployments.status', 'not in', ['failed', 'terminated'])
        .as('active'),
    )
    .where((where) =>
      where.or([
        where(sql<string>`organizations.id::text`, '=', text),
        where('organizations.slug', '=', text),
        sql<boolean>`strpos(lower(organizations.name), lower(${text})) > 0`,
      ]),
    )
    .orderBy('organizations.id', 'desc')
    .limit(mostRows)
    .execute()
}

/** Users whose id, email or name matches `text`, newest first. */
export function findUsers(db: Database, text: string) {
  return db
    .selectFrom('users')
    .select(['id', 'email', 'name', 'current_organization_id as organization'])
    .select(['email_verified_at as verified', 'disabled_at as disabled', 'created_at as created'])
    .where('deleted_at', 'is', null)
    .where((where) =>
      where.or([
        where(sql<string>`id::text`, '=', text),
        sql<boolean>`strpos(lower(email), lower(${text})) > 0`,
        sql<boolean>`strpos(lower(name), lower(${text})) > 0`,
      ]),
    )
    .orderBy('id', 'desc')
    .limit(mostRows)
    .execute()
}

export function organizationNotFound(): NotFoundError {
  return new NotFoundError(
    'No organization has this id. `npm run admin -- organization find <text>` lists ids.',
  )
}

export function userNotFound(): NotFoundError {
  return new NotFoundError('No user has this id. `npm run admin -- user find <text>` lists ids.')
}

/** The newest rows of the audit log, of one organization or of all. */
export function findActions(db: Database, { organization, limit }: { organization?: number; limit: number }) {
  return db
    .selectFrom('audit_log')
    .select([
      'at',
      'organization_id as organization',
      'actor_email as actor',
      'action',
      'target_type as type',
    ])
    .select(['target_id as target', 'target_name as name', 'address', 'result'])
    .$if(organization !== undefined, (query) => query.where('organization_id', '=', organization!))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
