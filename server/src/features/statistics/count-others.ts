import type { Services } from '../../services.ts'
import { sumCallers } from './caller-store.ts'

/** The requests of others than a person to a deployment since a moment, by whole minutes. */
export async function countOthers(
  { db }: Pick<Services, 'db'>,
  deploymentId: string,
  person: number,
  since: Date,
): Promise<number> {
  const from = new Date(since)
  from.setUTCSeconds(0, 0)
  const callers = await sumCallers(db, 'minute', deploymentId, from, null)
  const others = callers.filter(({ userId }) => userId !== person)
  return others.reduce((total, { requests }) => total + requests, 0)
}
