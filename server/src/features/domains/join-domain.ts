import { NotFoundError } from '../../base/errors.ts'
import type { Actor, Viewer } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { switchOrganization } from '../accounts/switch-organization.ts'
import { recordAction } from '../audit/record-action.ts'
import { addMember, isMember } from '../organizations/memberships.ts'
import { enterDomainOrganization, findDomainOrganization } from './domain-organization.ts'
import type { DomainOrganization } from './domain-organization.ts'

/** What the viewer may join by their proven address; null if they are in it, or there is none. */
export async function findDomainOffer(
  { db, config }: Pick<Services, 'db' | 'config'>,
  { userId }: Viewer,
): Promise<DomainOrganization | null> {
  const user = await db
    .selectFrom('users')
    .select(['email', 'email_verified_at'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  if (user.email_verified_at === null) return null
  const offer = await findDomainOrganization(db, { config }, user.email)
  return offer?.id != null && (await isMember(db, userId, offer.id)) ? null : offer
}

/** Joins the organization of `findDomainOffer`. Throws `not_found` without one. */
export async function acceptDomainOffer(
  deps: Pick<Services, 'db' | 'clock' | 'config'>,
  viewer: Viewer,
): Promise<void> {
  await deps.db.transaction().execute(async (transaction) => {
    if (!(await joinByDomain(transaction, deps, viewer, viewer.userId))) {
      throw new NotFoundError('Your address opens no organization, or you are in it already.')
    }
  })
}

/** Adds a person with a proven address to the organization of its domain, and switches them to it. */
export async function joinByDomain(
  transaction: DatabaseTransaction,
  deps: Pick<Services, 'clock' | 'config'>,
  actor: Actor,
  userId: number,
): Promise<boolean> {
  const { email, email_verified_at: verifiedAt } = await lockAccount(transaction, userId)
  const entered = verifiedAt === null ? null : await enterDomainOrganization(transaction, deps, email)
  if (entered === null || (await isMember(transaction, userId, entered.organizationId))) return false
  const { organizationId, role, domain } = entered
  await addMember(transaction, { userId, organizationId, role })
  await switchOrganization(transaction, { userId, organizationId, at: deps.clock() })
  await recordJoin(transaction, actor, { userId, email, organizationId, role, domain })
  return true
}

/** Records in the organization's audit log how a person came in. */
export async function recordJoin(
  transaction: DatabaseTransaction,
  actor: Actor,
  member: { userId: number; email: string; organizationId: number; role: string; domain: string },
): Promise<void> {
  const { userId, email, organizationId, role, domain } = member
  await recordAction(transaction, actor, 'member.joined', {
    organizationId,
    target: { type: 'user', id: userId, name: email },
    details: { role, domain },
  })
}
