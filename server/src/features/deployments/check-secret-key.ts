import { createHmac } from 'node:crypto'
import type { Database } from '../../database/tables.ts'

/**
 * Throws if `secretKey` is not the key that other processes derive the engines' keys from. The first key is stored as a
 * fingerprint. With `mayChange`, another key replaces it unless a deployment still uses the old one.
 */
export async function checkSecretKey(db: Database, secretKey: string, mayChange: boolean): Promise<void> {
  const fingerprint = createHmac('sha256', secretKey).update('fingerprint').digest()
  const first = db.insertInto('secret_key_fingerprints').values({ fingerprint })
  await first.onConflict((conflict) => conflict.doNothing()).execute()
  await db.transaction().execute(async (transaction) => {
    const stored = await transaction
      .selectFrom('secret_key_fingerprints')
      .select('fingerprint')
      .forUpdate()
      .executeTakeFirstOrThrow()
    if (stored.fingerprint.equals(fingerprint)) return
    if (!mayChange) {
      throw new Error(
        'SECRET_KEY differs from the key that the other processes of this database use. Set the same SECRET_KEY, or follow "Change the SECRET_KEY" in docs/operations.md.',
      )
    }
    const { live } = await transaction
      .selectFrom('deployments')
      .select(({ fn }) => fn.countAll<number>().as('live'))
      .where('status', 'not in', ['failed', 'terminated'])
      .executeTakeFirstOrThrow()
    if (live > 0) {
      throw new Error(
        `SECRET_KEY differs from the key that the engines of ${live} deployments were started with. Start with the old SECRET_KEY and terminate the deployments, then change it.`,
      )
    }
    await transaction.updateTable('secret_key_fingerprints').set({ fingerprint }).execute()
  })
}
