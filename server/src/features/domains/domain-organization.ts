import { sql } from 'kysely'
import { hashToken } from '../../base/hash-token.ts'
import type { InvitationRole, RoleName } from '../../base/roles.ts'
import type { OrganizationDomain } from '../../config/access.ts'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { domainOf } from '../accounts/email-folding.ts'
import { createOrganization } from '../organizations/create-organization.ts'

type Deps = Pick<Services, 'config'>

/** What people with a proven address of a domain may join. */
export interface DomainOrganization {
  domain: string
  /** null until the first of them joins */
  id: number | null
  name: string
  role: InvitationRole
}

/** The organization of the domain of a proven address; null if there is none that the person may join. */
export async function findDomainOrganization(
  db: Database,
  { config }: Deps,
  email: string,
): Promise<DomainOrganization | null> {
  const domain = domainOf(email)
  const listed = config.organizationDomains.find((entry) => entry.domain === domain)
  const found =
    (await findBound(db, [domain])) ?? (await findNamesake(db, config.organizationDomains, listed))
  if (found === undefined) {
    return listed === undefined ? null : { domain, id: null, name: listed.organization, role: listed.role }
  }
  const role = (found.domain === domain ? found.role : null) ?? listed?.role
  if (role === undefined || found.status !== 'active' || (await isExcluded(db, found.id, email))) return null
  return { domain, id: found.id, name: found.name, role }
}

function findBound(db: Database, domains: readonly string[]) {
  return db
    .selectFrom('organization_domains')
    .innerJoin('organizations', 'organizations.id', 'organization_domains.organization_id')
    .select(['domain', 'role', 'organizations.id', 'organizations.name', 'organizations.status'])
    .where('domain', 'in', domains)
    .orderBy('domain')
    .executeTakeFirst()
}

/** The organization that another listed domain with the same name of it has created. */
async function findNamesake(
  db: Database,
  all: readonly OrganizationDomain[],
  listed: OrganizationDomain | undefined,
) {
  const others = all.filter((entry) => entry.organization === listed?.organization && entry !== listed)
  return others.length === 0
    ? undefined
    : findBound(
        db,
        others.map(({ domain }) => domain),
      )
}

/**
 * Returns the organization to join, which the first person creates and then owns. The caller adds the
 * membership in the same transaction. null as for `findDomainOrganization`.
 */
export async function enterDomainOrganization(
  transaction: DatabaseTransaction,
  deps: Deps,
  email: string,
): Promise<{ domain: string; organizationId: number; role: RoleName; isNew: boolean } | null> {
  const find = () => findDomainOrganization(transaction, deps, email)
  let found = await find()
  if (found?.id === null) {
    // Of those who come first at the same moment, one creates it.
    const lock = `domain organization ${found.name}`
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`.execute(transaction)
    found = await find()
  }
  if (found === null) return null
  const { domain, id, name, role } = found
  if (id !== null) return { domain, organizationId: id, role, isNew: false }
  const organizationId = await createOrganization(transaction, name)
  await transaction
    .insertInto('organization_domains')
    .values({ domain, organization_id: organizationId, role: null })
    .execute()
  return { domain, organizationId, role: 'super_admin', isNew: true }
}

/** Keeps a removed person from coming back by their address alone. */
export async function excludeFromDomain(
  transaction: DatabaseTransaction,
  organizationId: number,
  email: string,
): Promise<void> {
  await transaction
    .insertInto('domain_exclusions')
    .values({ organization_id: organizationId, email_hash: hashEmail(email) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function isExcluded(db: Database, organizationId: number, email: string): Promise<boolean> {
  const row = await db
    .selectFrom('domain_exclusions')
    .select('organization_id')
    .where('organization_id', '=', organizationId)
    .where('email_hash', '=', hashEmail(email))
    .executeTakeFirst()
  return row !== undefined
}

function hashEmail(email: string): Buffer {
  return hashToken(email.toLowerCase())
}
