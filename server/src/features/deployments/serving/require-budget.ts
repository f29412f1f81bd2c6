import { ApplicationError } from '../../../base/errors.ts'
import { findStanding } from '../../../base/standing.ts'
import type { DeploymentOwnership } from '../state/judge-access.ts'
import type { Asker } from './asker.ts'

/**
 * The deployments whose calls the asker's budget allows. An exhausted one leaves their own, which sleep when
 * the budget says so. Throws `insufficient_quota` if none is left.
 */
export function requireBudget<Each extends DeploymentOwnership>(
  { viewer, member }: Asker,
  deployments: readonly Each[],
  now: Date,
): readonly Each[] {
  const person = member ?? viewer
  if (person.standings.every(({ callsBlockedUntil }) => callsBlockedUntil === null)) return deployments
  const findEnd = ({ ownerId, organizationId }: Each) => {
    const until = findStanding(person, organizationId)?.callsBlockedUntil ?? null
    return ownerId === person.userId || until === null || until <= now ? null : until
  }
  const allowed = deployments.filter((deployment) => findEnd(deployment) === null)
  if (allowed.length > 0 || deployments.length === 0) return allowed
  const whose = member === null ? 'Your budget' : 'The budget of this member'
  const end = findEnd(deployments[0]!)!.toISOString().slice(0, 10)
  const message = `${whose} is exhausted. An admin can raise it; the next billing period begins on ${end}.`
  throw new ApplicationError('insufficient_quota', message)
}
