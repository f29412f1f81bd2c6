import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import { managedRoles } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { getMember, listMembers } from '../organizations/members.ts'
import type { Member } from '../organizations/members.ts'
import { findMembership, holdRole } from '../organizations/memberships.ts'
import type { Membership } from '../organizations/memberships.ts'

/** A service member, with the end of the latest password that a new one replaced. */
export interface ServiceMember extends Member {
  allowed_networks: string[]
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
  const replaced = await db
    .selectFrom('service_passwords')
    .select(({ fn }) => ['user_id', fn.max('ends_at').as('ends_at')])
    .where('user_id', 'in', ids)
    .where('ends_at', '>', now)
    .groupBy('user_id')
    .execute()
  const ends = new Map(replaced.map(({ user_id, ends_at }) => [user_id, ends_at]))
  return services.map((member) => ({
    ...member,
    previous_password_ends_at: ends.get(member.user_id) ?? null,
  }))
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
