import type { Insertable, Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { SsoFlowsTable } from './tables.ts'

export type SsoFlow = Selectable<SsoFlowsTable>

export async function insertFlow(db: Database, flow: Insertable<SsoFlowsTable>): Promise<void> {
  await db.insertInto('sso_flows').values(flow).execute()
}

/** Deletes and returns a flow; undefined if it was claimed, has expired or is another browser's. */
export function claimFlow(
  db: Database,
  key: { cookieHash: Buffer; stateHash: Buffer },
  now: Date,
): Promise<SsoFlow | undefined> {
  return db
    .deleteFrom('sso_flows')
    .where('cookie_hash', '=', key.cookieHash)
    .where('state_hash', '=', key.stateHash)
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst()
}

export async function deleteExpiredFlows(db: Database, now: Date): Promise<void> {
  await db.deleteFrom('sso_flows').where('expires_at', '<=', now).execute()
}

/** Finds the user that an identity is linked to. */
export function findLinkedUser(
  db: Database,
  { issuer, subject }: { issuer: string; subject: string },
): Promise<{ id: number; email: string } | undefined> {
  return db
    .selectFrom('identities')
    .innerJoin('users', 'users.id', 'identities.user_id')
    .select(['users.id', 'users.email'])
    .where('identities.issuer', '=', issuer)
    .where('identities.subject', '=', subject)
    .executeTakeFirst()
}

export async function insertIdentity(
  db: Database,
  identity: { issuer: string; subject: string; userId: number; at: Date },
): Promise<void> {
  await db
    .insertInto('identities')
    .values({
      issuer: identity.issuer,
      subject: identity.subject,
      user_id: identity.userId,
      linked_at: identity.at,
    })
    .execute()
}

export type LinkedIdentity = Awaited<ReturnType<typeof listIdentities>>[number]

/** A user's links to identity providers, earliest first. */
export function listIdentities(db: Database, userId: number) {
  return db
    .selectFrom('identities')
    .select(['id', 'issuer', 'subject', 'linked_at'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
}

export async function deleteIdentity(db: Database, id: number): Promise<void> {
  await db.deleteFrom('identities').where('id', '=', id).execute()
}

/** A session at the provider. `sid` is null if the provider doesn't name its sessions. */
export interface SsoOrigin {
  issuer: string
  subject: string
  sid: string | null
}

/** The sessions from a session of the provider or, without its id, from any of the person's there. */
export function listSsoSessions(
  db: Database,
  { issuer, subject, sessionId }: { issuer: string; subject: string | null; sessionId: string | null },
) {
  let matching = db
    .selectFrom('sso_sessions')
    .select(['session_id as id', 'user_id as userId'])
    .where('issuer', '=', issuer)
  if (subject !== null) matching = matching.where('subject', '=', subject)
  if (sessionId !== null) matching = matching.where('sid', '=', sessionId)
  return matching.orderBy('session_id').execute()
}
