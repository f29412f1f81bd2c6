import { hashToken } from '../../base/hash-token.ts'
import type { Services } from '../../services.ts'
import { latestEnd } from './lifetime.ts'
import { findSession } from './store.ts'

/** Finds the session of a token that has not ended, with its user and its latest end. */
export async function findLiveSession(
  { db, config }: Pick<Services, 'db' | 'config'>,
  token: string,
  now: Date,
) {
  const session = await findSession(db, hashToken(token), now)
  if (session === undefined) return undefined
  // Service members don't sign in through the provider, whose limits therefore don't concern them.
  const end = latestEnd(session, session.allowed_networks === null ? config.sso : null)
  if (end <= now) return undefined
  const expiresAt = session.expires_at < end ? session.expires_at : end
  return { ...session, expires_at: expiresAt, end }
}
