import { ApplicationError } from './errors.ts'
import { roleCan } from './roles.ts'
import type { Permission, RoleName } from './roles.ts'

/** A person's membership in an organization, with all that decides there what they may do. */
export interface Standing {
  organizationId: number
  organizationName: string
  /** Members of a suspended or closed organization can only read. */
  organizationStatus: 'active' | 'suspended' | 'closed'
  role: RoleName
  /** True if the session lacks the second factor that the organization requires: only personal routes work */
  requiresSecondFactorSetup: boolean
  /** Prompts may not leave the installation; absent if they may */
  forbidsExternal?: boolean | undefined
  /** The teams of the member, oldest first */
  teamIds: readonly number[]
  /** Those of them whose budget is exhausted until a time: it refuses calls of others' deployments */
  exhaustedTeams: readonly { teamId: number; until: Date }[]
  /** Until when an exhausted budget refuses the member's calls of others' deployments; null for none */
  callsBlockedUntil: Date | null
}

/** A person's standing in an organization; undefined if the person is no member. */
export function findStanding(
  { standings }: { standings: readonly Standing[] },
  organizationId: number,
): Standing | undefined {
  return standings.find((standing) => standing.organizationId === organizationId)
}

/** Why an organization does not allow something to one of its members. */
export type StandingRefusal =
  | 'forbidden'
  | 'second_factor_setup_required'
  | 'organization_suspended'
  | 'external_not_allowed'

/** Returns why a member may not do what needs this permission, or null. `changes` is false for reading. */
export function judgeStanding(
  { role, requiresSecondFactorSetup, organizationStatus }: Standing,
  permission: Permission,
  changes: boolean,
): StandingRefusal | null {
  if (!roleCan(role, permission)) return 'forbidden'
  if (requiresSecondFactorSetup) return 'second_factor_setup_required'
  if (changes && organizationStatus !== 'active') return 'organization_suspended'
  return null
}

/** The error that tells a member about a refusal. */
export function toRefusalError(refusal: StandingRefusal, standing: Standing): ApplicationError {
  return new ApplicationError(refusal, describeRefusal(refusal, standing))
}

function describeRefusal(refusal: StandingRefusal, standing: Standing): string {
  const { role, organizationName, organizationStatus } = standing
  switch (refusal) {
    case 'forbidden':
      return `Your role in ${organizationName} (${role}) does not allow this.`
    case 'second_factor_setup_required':
      return `${organizationName} requires a second factor for sign-ins with a password. Set one up on your profile page.`
    case 'external_not_allowed':
      return `${organizationName} does not allow that prompts leave this server, and an endpoint has the model.`
    case 'organization_suspended':
      return `${organizationName} is ${organizationStatus}. You can read, but not change anything. Contact the operator of this server.`
  }
}
