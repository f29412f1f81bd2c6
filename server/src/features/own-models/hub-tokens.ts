/** The tokens of organizations for the Hub. The API never returns them. */

import { decryptSecret, encryptSecret } from '../../base/encrypt-secret.ts'
import type { SecretUse } from '../../base/encrypt-secret.ts'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import type { WeightSource } from '../../ports/model-variant.ts'
import type { Services } from '../../services.ts'

/** The token of an organization; null without one, or if an older SECRET_KEY encrypted it. */
export async function findHubToken(
  { db, secretKey }: Pick<Services, 'db' | 'secretKey'>,
  organizationId: number,
): Promise<string | null> {
  const query = db.selectFrom('hub_tokens').select('token').where('organization_id', '=', organizationId)
  const row = await query.executeTakeFirst()
  if (row === undefined) return null
  return decryptSecret(secretKey, toUse(organizationId), row.token)?.toString() ?? null
}

/**
 * The token that reads the weights of an organization's model; undefined where the operator's does. Never the
 * operator's for a repository that an organization named, because that could be a private one.
 */
export async function findWeightToken(
  deps: Pick<Services, 'db' | 'secretKey'>,
  organizationId: number,
  weights: WeightSource,
): Promise<string | null | undefined> {
  const isOwn = weights.kind === 'huggingface' && weights.access === 'organization'
  return isOwn ? findHubToken(deps, organizationId) : undefined
}

/** Stores the token of an organization in place of an older one. */
export async function storeHubToken(
  transaction: DatabaseTransaction,
  secretKey: string,
  organizationId: number,
  token: string,
): Promise<void> {
  const encrypted = encryptSecret(secretKey, toUse(organizationId), Buffer.from(token))
  await transaction
    .insertInto('hub_tokens')
    .values({ organization_id: organizationId, token: encrypted })
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet({ token: encrypted }))
    .execute()
}

/** Whether an organization has a token, which depends on the SECRET_KEY. */
export async function hasHubTokens(db: Database): Promise<boolean> {
  const query = db.selectFrom('hub_tokens').select('organization_id').limit(1)
  return (await query.executeTakeFirst()) !== undefined
}

/** Encrypts all tokens under another SECRET_KEY, and keeps tokens that the old key doesn't open. */
export async function reencryptHubTokens(
  transaction: DatabaseTransaction,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const rows = await transaction.selectFrom('hub_tokens').selectAll().forUpdate().execute()
  for (const { organization_id: organizationId, token } of rows) {
    const plain = decryptSecret(from, toUse(organizationId), token)
    if (plain !== null) await storeHubToken(transaction, to, organizationId, plain.toString())
  }
}

function toUse(organizationId: number): SecretUse {
  return { purpose: 'hub tokens', owner: `organization:${organizationId}` }
}
