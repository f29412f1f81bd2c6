import { deriveKey } from '../../base/derive-key.ts'
import type { Database } from '../../database/tables.ts'
import { hasEndpointKeys, reencryptEndpointKeys } from '../endpoints/endpoint-keys.ts'
import { hasHubTokens, reencryptHubTokens } from '../own-models/hub-tokens.ts'
import { hasTotpSecrets, reencryptSecrets } from '../second-factors/reencrypt-secrets.ts'

/**
 * Throws if `secretKey` is not the key of the other processes; the first key is stored as a fingerprint. With
 * `mayChange`, another key replaces it unless a deployment uses the old one. Secrets under the old key need
 * `previousKey`, and are then encrypted again.
 */
export async function checkSecretKey(
  db: Database,
  secretKey: string,
  { mayChange, previousKey }: { mayChange: boolean; previousKey: string | null },
): Promise<void> {
  const fingerprint = deriveKey(secretKey, 'fingerprint')
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
    const has = [hasTotpSecrets, hasHubTokens, hasEndpointKeys].map((find) => find(transaction))
    if ((await Promise.all(has)).includes(true)) {
      if (previousKey === null || !stored.fingerprint.equals(deriveKey(previousKey, 'fingerprint'))) {
        throw new Error(
          'Secrets of authenticator apps, tokens of the Hub or keys of endpoints are encrypted with the old SECRET_KEY. Set PREVIOUS_SECRET_KEY to it for this start, so that they can be encrypted with the new one.',
        )
      }
      const keys = { from: previousKey, to: secretKey }
      await reencryptSecrets(transaction, keys)
      await reencryptHubTokens(transaction, keys)
      await reencryptEndpointKeys(transaction, keys)
    }
    await transaction.updateTable('secret_key_fingerprints').set({ fingerprint }).execute()
  })
}
