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
import type { Membership } from '../organizations/memberships.ts'
import { followTeamGroups } from '../teams/follow-groups.ts'

/** The most privileged role of a person's groups at the provider; null if none of them gives one. */
export function roleOfGroups({ sso }: Pick<Config, 'sso'>, groups: Identity['groups']): RoleName | null {
  const given = (sso?.roleGroups ?? []).filter(({ group }) => groups?.includes(group))
  return given.toSorted((one, other) => roleIds[one.role] - roleIds[other.role])[0]?.role ?? null
}

/** Gives a member of the domain's organization the teams and the role of their groups, if they are told. */
export async function followGroups(
  deps: Pick<Services, 'clock' | 'config'>,
  transaction: DatabaseTransaction,
  visitor: Actor,
  userId: number,
  { groups, email, emailVerified }: Identity,
): Promise<void> {
  if (groups === null || email === null || !emailVerified) return
  const home = await findDomainOrganization(transaction, deps, email)
  if (home === null || home.id === null) return
  await lockAccount(transaction, userId)
  await lockMemberships(transaction, home.id)
  const member = await findMembership(transaction, home.id, { userId })
  if (member === undefined) return
  const actor = { ...(await identifyActor(transaction, visitor, userId)), organizationId: home.id }
  await followTeamGroups(transaction, actor, member, groups)
  await followRoleGroups(deps, transaction, actor, {
    member,
    role: roleOfGroups(deps.config, groups) ?? home.role,
  })
}

/** Keeps the last owner, all owners if no group makes owners, and all roles if no group has one. */
async function followRoleGroups(
  deps: Pick<Services, 'clock' | 'config'>,
  transaction: DatabaseTransaction,
  actor: Actor,
  { member, role }: { member: Membership; role: RoleName },
): Promise<void> {
  const roleGroups = deps.config.sso?.roleGroups ?? []
  if (roleGroups.length === 0 || member.role === role) return
  const makesOwners = roleGroups.some((given) => given.role === 'super_admin')
  if (member.role === 'super_admin' && !(makesOwners && (await hasOtherSuperAdmin(transaction, member))))
    return
  await setMemberRole(transaction, member.id, role)
  await cancelInvitationsOf(transaction, actor, member.userId, deps.clock())
  await recordAction(transaction, actor, 'member.role_changed', {
    target: { type: 'member', id: member.id, name: member.email },
    details: { role: { from: member.role, to: role }, by: 'provider' },
  })
}
