import type { Actor } from '../../../base/viewer.ts'
import type { Database } from '../../../database/tables.ts'
import type { RecordedAction } from '../../audit/record-action.ts'
import { findOwners } from './store.ts'
import type { Deployment } from './store.ts'

/**
 * An act's audit target: one's deployment, by its alias if it has one, or the owner of another's, so that the
 * owner's admins find it.
 */
export async function describeTarget(
  db: Database,
  actor: Actor,
  { id, user_id: ownerId, model_name: model, alias }: Deployment,
): Promise<Pick<RecordedAction, 'target' | 'details'>> {
  const name = alias ?? model
  const facts = alias === null ? {} : { model }
  if (actor.userId === ownerId) return { target: { type: 'deployment', id, name }, details: facts }
  const owner = (await findOwners(db, [ownerId])).get(ownerId)
  return {
    target: { type: 'user', id: ownerId, name: owner?.email },
    details: { deployment: id, model, ...(alias !== null && { alias }) },
  }
}
