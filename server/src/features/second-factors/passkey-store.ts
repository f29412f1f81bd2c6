import type { Selectable } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { hashToken } from '../../base/hash-token.ts'
import type { PasskeysTable } from './tables.ts'

export type Passkey = Selectable<PasskeysTable>

/** What the signature of a challenge permits: a reauthentication only in the session that asked for it. */
export type ChallengePurpose =
  | { purpose: 'registration' | 'sign_in' }
  | { purpose: 'reauthentication'; sessionId: number }

/** A user's passkeys, earliest first. */
export function listPasskeys(db: Database, userId: number): Promise<Passkey[]> {
  return db.selectFrom('passkeys').selectAll().where('user_id', '=', userId).orderBy('id').execute()
}

/** Inserts a passkey and returns its id; undefined if the credential is known already. */
export async function insertPasskey(
  transaction: DatabaseTransaction,
  passkey: Omit<Passkey, 'id' | 'last_used_at'>,
): Promise<number | undefined> {
  const row = await transaction
    .insertInto('passkeys')
    .values(passkey)
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

/** Deletes a passkey of a user and returns its name; undefined if it doesn't exist. */
export async function deletePasskey(
  transaction: DatabaseTransaction,
  userId: number,
  id: number,
): Promise<string | undefined> {
  const row = await transaction
    .deleteFrom('passkeys')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning('name')
    .executeTakeFirst()
  return row?.name
}

/** Records a use; false if another request recorded as high a counter, or without the passkey. */
export async function advancePasskey(
  db: Database,
  id: number,
  { from, to, at }: { from: number; to: number; at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('passkeys')
    .set({ sign_count: to, last_used_at: at })
    .where('id', '=', id)
    .where('sign_count', '=', from)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** How long a person may take to sign a challenge. */
export const challengeMilliseconds = 5 * 60_000

export async function insertChallenge(
  db: Database,
  challenge: { text: string; userId: number; expiresAt: Date } & ChallengePurpose,
): Promise<void> {
  const { text, userId, purpose, expiresAt } = challenge
  const session_id = challenge.purpose === 'reauthentication' ? challenge.sessionId : null
  await db
    .insertInto('passkey_challenges')
    .values({ challenge_hash: hashToken(text), user_id: userId, purpose, session_id, expires_at: expiresAt })
    .execute()
}

/** Deletes the open challenges of a session, so that each session has at most one. */
export async function deleteSessionChallenges(db: Database, sessionId: number): Promise<void> {
  await db.deleteFrom('passkey_challenges').where('session_id', '=', sessionId).execute()
}

/** Consumes a challenge; false if it is unknown, used, expired, or not of this user, session and purpose. */
export async function consumeChallenge(
  db: Database,
  challenge: { text: string; userId: number; at: Date } & ChallengePurpose,
): Promise<boolean> {
  const sessionId = challenge.purpose === 'reauthentication' ? challenge.sessionId : null
  const { numDeletedRows } = await db
    .deleteFrom('passkey_challenges')
    .where('challenge_hash', '=', hashToken(challenge.text))
    .where('user_id', '=', challenge.userId)
    .where('purpose', '=', challenge.purpose)
    .where('session_id', 'is not distinct from', sessionId)
    .where('expires_at', '>', challenge.at)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
