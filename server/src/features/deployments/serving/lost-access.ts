import { ApplicationError } from '../../../base/errors.ts'
import { toRefusalError } from '../../../base/standing.ts'
import type { Database } from '../../../database/tables.ts'
import type { Person } from '../../../base/viewer.ts'
import { findPersons } from '../../sessions/live-sessions.ts'
import { listNamedMembers } from '../../sessions/named-members.ts'
import { toOwnership } from '../state/access-deployment.ts'
import type { AccessRefusal } from '../state/judge-access.ts'
import type { Asker } from './asker.ts'
import { judgeCall } from './serving-deployments.ts'

/** A request in flight, and the deployments that may serve it. */
export interface Access {
  asker: Asker
  deploymentIds: readonly string[]
}

/** What a request in flight may not use anymore. */
export interface LostAccess<Each> {
  access: Each
  /** null if the session has ended */
  deploymentIds: ReadonlySet<string> | null
  error: ApplicationError
}

/** Finds requests whose session has ended or whose caller may not call some of their deployments anymore. */
export async function findLostAccess<Each extends Access>(
  db: Database,
  accesses: readonly Each[],
): Promise<LostAccess<Each>[]> {
  const [persons, members, deployments] = await Promise.all([
    findPersons(db, [...new Set(accesses.map(({ asker }) => asker.viewer.session.id))]),
    findMembers(
      db,
      accesses.flatMap(({ asker }) => asker.member ?? []),
    ),
    findOwnerships(db, [...new Set(accesses.flatMap(({ deploymentIds }) => deploymentIds))]),
  ])
  return accesses.flatMap((access): LostAccess<Each>[] => {
    const { viewer, member } = access.asker
    const person = persons.get(viewer.session.id)
    if (person === undefined) return [{ access, deploymentIds: null, error: sessionEnded() }]
    const asking = member === null ? [person] : [person, members.get(toKey(member)) ?? withoutAccess(member)]
    const refusals = access.deploymentIds.flatMap((id) => {
      const deployment = deployments.get(id)
      const refusal = deployment === undefined ? notFound : judgeCall(asking, deployment)
      return refusal === null ? [] : [{ id, refusal }]
    })
    const [first] = refusals
    if (first === undefined) return []
    const deploymentIds = new Set(refusals.map(({ id }) => id))
    return [{ access, deploymentIds, error: toLossError(first.refusal) }]
  })
}

/** The current state of named members. Programs of several organizations may ask at once. */
async function findMembers(db: Database, members: readonly Person[]): Promise<Map<string, Person>> {
  const found = await Promise.all(
    [...Map.groupBy(members, ({ organizationId }) => organizationId)].map(([id, named]) =>
      listNamedMembers(db, id, [...new Set(named.map(({ userId }) => userId))]),
    ),
  )
  return new Map(found.flatMap((each) => [...each.values()].map((person) => [toKey(person), person])))
}

function toKey({ organizationId, userId }: Person): string {
  return `${organizationId} ${userId}`
}

/** Somebody who is no member anymore. */
function withoutAccess(member: Person): Person {
  return { ...member, standings: [] }
}

const notFound = { code: 'not_found' } as const

async function findOwnerships(db: Database, ids: readonly string[]) {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('deployments')
    .select(['id', 'user_id', 'organization_id', 'shared_with', 'model_format'])
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.id, toOwnership(row)]))
}

function sessionEnded(): ApplicationError {
  return new ApplicationError('not_authenticated', 'Your access has ended. Sign in again.')
}

function toLossError(refusal: AccessRefusal): ApplicationError {
  if (refusal.code !== 'not_found') return toRefusalError(refusal.code, refusal.standing)
  return new ApplicationError('model_not_found', 'Your access to this deployment has ended.')
}
