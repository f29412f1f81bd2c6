import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import { managedRoles } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { getMember, listMembers } from '../organizations/members.ts'
import type { Member } from '../organizations/members.ts'
import { findMembership, holdRole } from '../organizations/memberships.ts'
import type { Membership } from '../organizations/memberships.ts'

/** A service member, with the age of its password and the end of the one before. */
export interface ServiceMember extends Member {
  allowed_networks: string[]
  password_created_at: Date
  /** null if only one password works */
  previous_password_ends_at: Date | null
}

/** The service members of an organization, earliest first. */
export async function listServiceMembers(
  db: Database,
  organizationId: number,
  now: Date,
): Promise<ServiceMember[]> {
  return withPasswords(db, await listMembers(db, organizationId), now)
}

/** A service member by the id of the membership. */
export async function getServiceMember(db: Database, id: number, now: Date): Promise<ServiceMember> {
  const [member] = await withPasswords(db, [await getMember(db, id)], now)
  return member!
}

async function withPasswords(db: Database, members: readonly Member[], now: Date): Promise<ServiceMember[]> {
  const services = members.filter((member): member is ServiceMember => member.allowed_networks !== null)
  if (services.length === 0) return []
  const ids = services.map(({ user_id }) => user_id)
  const found = await db
    .selectFrom('service_passwords')
    .select(({ fn }) => [
      'user_id',
      fn.max('created_at').as('createdAt'),
      // The current one has no end.
      fn.max('ends_at').as('endsAt'),
    ])
    .where('user_id', 'in', ids)
    .where((where) => where.or([where('ends_at', 'is', null), where('ends_at', '>', now)]))
    .groupBy('user_id')
    .execute()
  const passwords = new Map(found.map(({ user_id, ...password }) => [user_id, password]))
  return services.map((member) => {
    const { createdAt, endsAt } = passwords.get(member.user_id)!
    return { ...member, password_created_at: createdAt, previous_password_ends_at: endsAt }
  })
}

/** Finds a service member, and locks its account and the viewer's role. Throws `not_found`. */
export async function lockServiceMember(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  id: number,
): Promise<Membership> {
  const found = await findMembership(transaction, viewer.organizationId, { id })
  if (found === undefined || !found.isService) throw serviceMemberNotFound()
  await lockAccount(transaction, found.userId)
  await holdManager(transaction, viewer)
  // Read again under the lock: a concurrent request may have removed it.
  const member = await findMembership(transaction, viewer.organizationId, { id })
  if (member === undefined) throw serviceMemberNotFound()
  return member
}

/** Keeps the viewer's role until the transaction ends. Throws `forbidden` if it doesn't manage members. */
export async function holdManager(transaction: DatabaseTransaction, viewer: Viewer): Promise<void> {
  if (managedRoles(await holdRole(transaction, viewer)).includes('member')) return
  throw new ApplicationError('forbidden', 'Only admins manage service members.')
}

function serviceMemberNotFound(): NotFoundError {
  const message = 'Service member not found. GET /v1/organization/service-members lists them.'
  return new NotFoundError(message)
}
