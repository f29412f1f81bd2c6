/** The keys of organizations for their endpoints. The API never returns them. */

import { decryptSecret, encryptSecret } from '../../base/encrypt-secret.ts'
import type { SecretUse } from '../../base/encrypt-secret.ts'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'

/** Encrypts the key of an endpoint for its row. */
export function encryptEndpointKey(secretKey: string, endpointId: string, key: string): Buffer {
  return encryptSecret(secretKey, toUse(endpointId), Buffer.from(key))
}

/** The key of an endpoint; null without one, or if an older SECRET_KEY encrypted it. */
export function decryptEndpointKey(secretKey: string, endpointId: string, key: Buffer | null): string | null {
  return key === null ? null : (decryptSecret(secretKey, toUse(endpointId), key)?.toString() ?? null)
}

/** Whether an endpoint has a key, which depends on the SECRET_KEY. */
export async function hasEndpointKeys(db: Database): Promise<boolean> {
  const query = db.selectFrom('endpoints').select('id').where('key', 'is not', null).limit(1)
  return (await query.executeTakeFirst()) !== undefined
}

/** Encrypts all keys under another SECRET_KEY, and keeps keys that the old one doesn't open. */
export async function reencryptEndpointKeys(
  transaction: DatabaseTransaction,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const rows = await transaction.selectFrom('endpoints').select(['id', 'key']).forUpdate().execute()
  for (const { id, key } of rows) {
    const plain = decryptEndpointKey(from, id, key)
    if (plain === null) continue
    const encrypted = encryptEndpointKey(to, id, plain)
    await transaction.updateTable('endpoints').set({ key: encrypted }).where('id', '=', id).execute()
  }
}

function toUse(endpointId: string): SecretUse {
  return { purpose: 'endpoint keys', owner: `endpoint:${endpointId}` }
}
