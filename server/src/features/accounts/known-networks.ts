import type { Database } from '../../database/tables.ts'
import { networkOf } from '../../base/network.ts'

const day = 24 * 3_600_000
const remembered = 90 * day

/** Remembers that a user signed in from the network of an address. */
export async function rememberNetwork(
  db: Database,
  userId: number,
  address: string | null,
  at: Date,
): Promise<void> {
  if (address === null) return
  await db
    .insertInto('known_networks')
    .values({ user_id: userId, network: networkOf(address), last_seen_at: at })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'network'])
        .doUpdateSet({ last_seen_at: at })
        // At most daily, so that a frequent sign-in writes nothing.
        .where('known_networks.last_seen_at', '<', new Date(at.getTime() - day)),
    )
    .execute()
}

/** Whether the owner of an email has signed in from this network. Takes the same time without an account. */
export async function isKnownNetwork(
  db: Database,
  userId: number | undefined,
  network: string,
  now: Date,
): Promise<boolean> {
  const known = await db
    .selectFrom('known_networks')
    .select('network')
    .where('user_id', '=', userId ?? 0)
    .where('network', '=', network)
    .where('last_seen_at', '>', new Date(now.getTime() - remembered))
    .executeTakeFirst()
  return known !== undefined
}

/** Forgets the networks of an account that may have been another person's. */
export async function forgetNetworks(db: Database, userId: number): Promise<void> {
  await db.deleteFrom('known_networks').where('user_id', '=', userId).execute()
}

/** Deletes the networks without a sign-in for 90 days. */
export async function deleteOldNetworks(db: Database, now: Date): Promise<void> {
  const oldest = new Date(now.getTime() - remembered)
  await db.deleteFrom('known_networks').where('last_seen_at', '<', oldest).execute()
}
