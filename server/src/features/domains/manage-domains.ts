import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import type { InvitationRole } from '../../base/roles.ts'
import { domainName } from '../../config/access.ts'
import type { Actor } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import { findOrganizationStatus } from '../organizations/status.ts'

type Deps = Pick<Services, 'db' | 'config'>

/** The domains of ORGANIZATION_DOMAINS and of this command, each with its organization. */
export async function listDomains({ db, config }: Deps) {
  const bound = await db
    .selectFrom('organization_domains')
    .innerJoin('organizations', 'organizations.id', 'organization_domains.organization_id')
    .select(['domain', 'organizations.id as organization', 'organizations.name', 'role'])
    .orderBy('domain')
    .execute()
  const listed = config.organizationDomains.map(({ domain, organization, role }) => {
    const existing = bound.find((row) => row.domain === domain)
    return existing === undefined
      ? { domain, organization: null, name: organization, role }
      : { ...existing, role: existing.role ?? role }
  })
  const others = bound.filter((row) => !listed.some(({ domain }) => domain === row.domain))
  return [...listed, ...others.map((row) => ({ ...row, role: row.role ?? 'not in ORGANIZATION_DOMAINS' }))]
}

/** Lets people with a proven address of the domain join the organization. Throws `not_found`. */
export async function giveDomain(
  { db }: Deps,
  operator: Actor,
  domain: string,
  organizationId: number,
  role: InvitationRole,
): Promise<void> {
  if (!domainName.test(domain)) {
    throw new ApplicationError('validation_failed', `${domain} is no domain such as corp.example.`)
  }
  await db.transaction().execute(async (transaction) => {
    if ((await findOrganizationStatus(transaction, organizationId)) === undefined)
      throw new NotFoundError('No organization has this id.')
    const row = { organization_id: organizationId, role }
    await transaction
      .insertInto('organization_domains')
      .values({ domain, ...row })
      .onConflict((conflict) => conflict.column('domain').doUpdateSet(row))
      .execute()
    await recordAction(transaction, operator, 'organization.domain_added', {
      organizationId,
      target: { type: 'organization', id: organizationId },
      details: { domain, role, operator: operator.email },
    })
  })
}

/** Ends joining by the domain. Throws `not_found` if the domain has no organization. */
export async function takeDomain({ db }: Deps, operator: Actor, domain: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const removed = await transaction
      .deleteFrom('organization_domains')
      .where('domain', '=', domain)
      .returning('organization_id')
      .executeTakeFirst()
    if (removed === undefined) throw new NotFoundError(`No organization has the domain ${domain}.`)
    const { organization_id: organizationId } = removed
    await recordAction(transaction, operator, 'organization.domain_removed', {
      organizationId,
      target: { type: 'organization', id: organizationId },
      details: { domain, operator: operator.email },
    })
  })
}
