import { isInNetworks } from '../../base/network.ts'
import type { Network } from '../../base/network.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { deleteSessions } from './delete-sessions.ts'

/** Ends the present sessions of a user at `end`, if they would last longer. */
export async function limitSessions(
  transaction: DatabaseTransaction,
  userId: number,
  end: Date,
): Promise<void> {
  await transaction
    .updateTable('sessions')
    .set({ ends_at: end })
    .where('user_id', '=', userId)
    .where((where) => where.or([where('ends_at', 'is', null), where('ends_at', '>', end)]))
    .execute()
}

/** Deletes the sessions of a user that were last used outside these networks. */
export async function deleteSessionsOutside(
  transaction: DatabaseTransaction,
  userId: number,
  networks: readonly Network[],
): Promise<void> {
  const sessions = await transaction
    .selectFrom('sessions')
    .select(['id', 'address'])
    .where('user_id', '=', userId)
    .execute()
  for (const { id, address } of sessions) {
    if (!isInNetworks(address, networks)) await deleteSessions(transaction, userId, { id })
  }
}
