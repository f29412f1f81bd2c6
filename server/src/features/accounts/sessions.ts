import { randomBytes } from 'node:crypto'
import type { Application } from '../../application.ts'
import type { Viewer } from '../../viewer.ts'
import { hashToken } from './link-token.ts'
import { invalidCredentials } from './sign-in.ts'
import { deleteSession, findSession, holdPassword, insertSession, renewSession } from './store.ts'

const hour = 3_600_000
const day = 24 * hour
const lifetime = 7 * day
const longestLife = 30 * day

export interface StartedSession {
  /** 256 random bits for the cookie; only its SHA-256 is stored */
  token: string
  expiresAt: Date
}

/**
 * Starts a session for a user and ends the one whose token came with the request, so that no token is ever carried over. With
 * the hash of the password that was checked, it throws `invalid_credentials` when the password was replaced meanwhile.
 */
export async function startSession(
  { db, clock }: Pick<Application, 'db' | 'clock'>,
  session: {
    userId: number
    authMethod: string
    replaces: string | null
    passwordHash?: string | undefined
  },
): Promise<StartedSession> {
  const token = randomBytes(32).toString('base64url')
  const createdAt = clock()
  const expiresAt = new Date(createdAt.getTime() + lifetime)
  const { userId, authMethod, replaces, passwordHash } = session
  await db.transaction().execute(async (transaction) => {
    if (passwordHash !== undefined && !(await holdPassword(transaction, userId, passwordHash))) {
      throw invalidCredentials()
    }
    if (replaces !== null) await deleteSession(transaction, hashToken(replaces))
    await insertSession(transaction, {
      tokenHash: hashToken(token),
      userId,
      authMethod,
      createdAt,
      expiresAt,
    })
  })
  return { token, expiresAt }
}

/**
 * The viewer that a token stands for, or null. A session that is used lives on for another 7 days, up to 30 in all;
 * `renewed` tells that its cookie must be sent again.
 */
export async function findViewer(
  { db, clock }: Pick<Application, 'db' | 'clock'>,
  token: string,
): Promise<{ viewer: Viewer; renewed: boolean } | null> {
  const now = clock()
  const row = await findSession(db, hashToken(token), now)
  if (row === undefined) return null
  const expiresAt = new Date(Math.min(now.getTime() + lifetime, row.created_at.getTime() + longestLife))
  const renewed =
    now.getTime() - row.renewed_at.getTime() >= hour &&
    expiresAt > row.expires_at &&
    (await renewSession(db, row.id, row.renewed_at, now, expiresAt))
  const viewer: Viewer = {
    userId: row.user_id,
    email: row.email,
    name: row.name,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    role: row.role,
    requiresProfileCompletion: row.profile_incomplete,
    session: { id: row.id, expiresAt: renewed ? expiresAt : row.expires_at, authMethod: row.auth_method },
  }
  return { viewer, renewed }
}

/** Ends the session of a token; the token is worthless at once. */
export async function endSession({ db }: Pick<Application, 'db'>, token: string): Promise<void> {
  await deleteSession(db, hashToken(token))
}
