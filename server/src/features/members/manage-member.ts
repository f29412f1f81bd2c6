import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import { managedRoles, serviceRoles } from '../../base/roles.ts'
import type { RoleName, ServiceRole } from '../../base/roles.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { cancelInvitationsOf } from '../invitations/cancel-invitations-of.ts'
import {
  assertOtherSuperAdmin,
  findMembership,
  lockMemberships,
  setMemberRole,
} from '../organizations/memberships.ts'
import type { Membership } from '../organizations/memberships.ts'

/**
 * Changes the role of a member of the viewer's organization, and cancels their open invitations that the new
 * role doesn't allow. Throws `forbidden`, `not_found`, `service_member_role` and `last_super_admin`.
 */
export function changeMemberRole(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  id: number,
  role: RoleName,
): Promise<Membership> {
  return db.transaction().execute(async (transaction) => {
    const member = await lockManagedMember(transaction, viewer, id, role)
    if (member.role === role) return member
    if (member.isService) assertServiceRole(role)
    await assertOtherSuperAdmin(transaction, member)
    await setMemberRole(transaction, id, role)
    await cancelInvitationsOf(transaction, viewer, member.userId, clock())
    await recordAction(transaction, viewer, 'member.role_changed', {
      target: { type: 'member', id, name: member.email },
      details: { role: { from: member.role, to: role } },
    })
    return { ...member, role }
  })
}

function assertServiceRole(role: RoleName): void {
  if (serviceRoles.includes(role as ServiceRole)) return
  const message = 'A service member can only be a viewer or a member.'
  throw new ApplicationError('service_member_role', message)
}

/** Locks a member and the roles. Admins manage viewers and members (also as `newRole`), super_admins all. */
export async function lockManagedMember(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  id: number,
  newRole?: RoleName,
): Promise<Membership> {
  const { organizationId } = viewer
  const found = await findMembership(transaction, organizationId, { id })
  if (found === undefined) throw memberNotFound()
  await lockAccount(transaction, found.userId)
  await lockMemberships(transaction, organizationId)
  // Read again under the lock: a concurrent request may have changed the roles.
  const member = await findMembership(transaction, organizationId, { id })
  const own = await findMembership(transaction, organizationId, { userId: viewer.userId })
  if (member === undefined || own === undefined) throw memberNotFound()
  for (const role of [member.role, newRole ?? member.role]) {
    if (managedRoles(own.role).includes(role)) continue
    const message = 'Only an owner can manage admins and owners.'
    throw new ApplicationError('forbidden', message)
  }
  return member
}

function memberNotFound(): NotFoundError {
  return new NotFoundError('Member not found. GET /v1/organization/members lists the members.')
}
