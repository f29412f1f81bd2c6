import { decryptSecret, encryptSecret } from '../../base/encrypt-secret.ts'
import type { SecretUse } from '../../base/encrypt-secret.ts'
import type { Services } from '../../services.ts'

export function encryptIdToken(
  { secretKey }: Pick<Services, 'secretKey'>,
  sessionId: number,
  idToken: string,
): Buffer {
  return encryptSecret(secretKey, useOf(sessionId), Buffer.from(idToken))
}

/** The ID token of a session: null if none is kept, undefined if the session isn't the provider's. */
export async function findIdToken(
  { db, secretKey }: Pick<Services, 'db' | 'secretKey'>,
  sessionId: number,
): Promise<string | null | undefined> {
  const row = await db
    .selectFrom('sso_sessions')
    .select('id_token')
    .where('session_id', '=', sessionId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (row.id_token === null) return null
  return decryptSecret(secretKey, useOf(sessionId), row.id_token)?.toString() ?? null
}

function useOf(sessionId: number): SecretUse {
  return { purpose: 'id tokens', owner: `session:${sessionId}` }
}
