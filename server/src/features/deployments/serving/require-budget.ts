import { ApplicationError } from '../../../base/errors.ts'
import { findStanding } from '../../../base/standing.ts'
import type { Person } from '../../../base/viewer.ts'
import type { DeploymentOwnership } from '../state/judge-access.ts'
import type { Asker } from './asker.ts'
import { findUsageTeam } from './usage-team.ts'

/**
 * The deployments whose calls the budgets of the asker and of the team allow that would have the usage. An
 * exhausted one leaves their own, which sleep when the budget says so. Throws `insufficient_quota` if none is
 * left.
 */
export function requireBudget<Each extends DeploymentOwnership>(
  { viewer, member }: Asker,
  deployments: readonly Each[],
  clock: () => Date,
): readonly Each[] {
  const person = member ?? viewer
  const isBlocked = person.standings.some(
    ({ callsBlockedUntil, exhaustedTeams }) => callsBlockedUntil !== null || exhaustedTeams.length > 0,
  )
  if (!isBlocked) return deployments
  const now = clock()
  const allowed = deployments.filter((deployment) => findExhausted(person, deployment, now) === null)
  if (allowed.length > 0 || deployments.length === 0) return allowed
  const { scope, until } = findExhausted(person, deployments[0]!, now)!
  const whose = names[scope][member === null ? 'own' : 'named']
  const end = until.toISOString().slice(0, 10)
  const message = `${whose} is exhausted. An admin can raise it; the next billing period begins on ${end}.`
  throw new ApplicationError('insufficient_quota', message)
}

const names = {
  member: { own: 'Your budget', named: 'The budget of this member' },
  team: { own: 'The budget of your team', named: 'The budget of this member’s team' },
} as const

/** The budget that refuses a person's calls of a deployment, and until when; null for none. */
function findExhausted(
  person: Person,
  deployment: DeploymentOwnership,
  now: Date,
): { scope: 'member' | 'team'; until: Date } | null {
  const standing = findStanding(person, deployment.organizationId)
  if (standing === undefined || deployment.ownerId === person.userId) return null
  const own = standing.callsBlockedUntil
  if (own !== null && own > now) return { scope: 'member', until: own }
  const teamId = findUsageTeam(person, deployment)
  const team = standing.exhaustedTeams.find((each) => each.teamId === teamId)
  return team === undefined || team.until <= now ? null : { scope: 'team', until: team.until }
}
