import { roleIds } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'
import type { Actor } from '../../base/viewer.ts'
import type { Config } from '../../config/config.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Identity } from '../../ports/identity-provider.ts'
import type { Services } from '../../services.ts'
import { identifyActor } from '../accounts/identify-actor.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { findDomainOrganization } from '../domains/domain-organization.ts'
import { cancelInvitationsOf } from '../invitations/cancel-invitations-of.ts'
import {
  findMembership,
  hasOtherSuperAdmin,
  lockMemberships,
  setMemberRole,
} from '../organizations/memberships.ts'

/** The most privileged role of a person's groups at the provider; null if none of them gives one. */
export function roleOfGroups({ sso }: Pick<Config, 'sso'>, groups: Identity['groups']): RoleName | null {
  const given = (sso?.roleGroups ?? []).filter(({ group }) => groups?.includes(group))
  return given.toSorted((one, other) => roleIds[one.role] - roleIds[other.role])[0]?.role ?? null
}

/**
 * Gives a member of the domain's organization the role of their groups, else the domain's. Keeps the last
 * owner, all owners if no group makes owners, and the role if the provider doesn't tell the groups.
 */
export async function followGroups(
  deps: Pick<Services, 'clock' | 'config'>,
  transaction: DatabaseTransaction,
  visitor: Actor,
  userId: number,
  { groups, email, emailVerified }: Identity,
): Promise<void> {
  const roleGroups = deps.config.sso?.roleGroups ?? []
  if (roleGroups.length === 0 || groups === null || email === null || !emailVerified) return
  const home = await findDomainOrganization(transaction, deps, email)
  if (home === null || home.id === null) return
  await lockAccount(transaction, userId)
  await lockMemberships(transaction, home.id)
  const member = await findMembership(transaction, home.id, { userId })
  const role = roleOfGroups(deps.config, groups) ?? home.role
  if (member === undefined || member.role === role) return
  const makesOwners = roleGroups.some((given) => given.role === 'super_admin')
  if (member.role === 'super_admin' && !(makesOwners && (await hasOtherSuperAdmin(transaction, member))))
    return
  await setMemberRole(transaction, member.id, role)
  const actor = { ...(await identifyActor(transaction, visitor, userId)), organizationId: home.id }
  await cancelInvitationsOf(transaction, actor, userId, deps.clock())
  await recordAction(transaction, actor, 'member.role_changed', {
    target: { type: 'member', id: member.id, name: member.email },
    details: { role: { from: member.role, to: role }, by: 'provider' },
  })
}
