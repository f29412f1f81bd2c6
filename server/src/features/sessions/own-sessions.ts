import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import { hashToken } from '../../base/hash-token.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import type { AuditTarget } from '../audit/record-action.ts'
import { deleteSessions } from './delete-sessions.ts'
import { latestEnd } from './lifetime.ts'
import { deleteSession, listSessions, lockSession } from './store.ts'
import type { OwnSession } from './store.ts'

/** The viewer's active sessions, latest use first. */
export async function listOwnSessions(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  viewer: Viewer,
): Promise<OwnSession[]> {
  const now = clock()
  const sessions = await listSessions(db, viewer.userId, now)
  return sessions
    .map((session) => ({
      ...session,
      expires_at: earliest(session.expires_at, latestEnd(session, config.sso)),
    }))
    .filter((session) => session.expires_at > now)
}

/** Ends the viewer's current session, which has this token. */
export async function signOut({ db }: Pick<Services, 'db'>, viewer: Viewer, token: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await deleteSession(transaction, viewer.userId, hashToken(token))
    await recordAction(transaction, viewer, 'session.ended', {
      target: { type: 'session', id: viewer.session.id },
    })
  })
}

/** Ends one of the viewer's sessions. Throws `not_found` for those of others, and like `requireSignIn`. */
export async function endOwnSession({ db }: Pick<Services, 'db'>, viewer: Viewer, id: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (id !== viewer.session.id) await requireSignIn(transaction, viewer)
    const [ended] = await deleteSessions(transaction, viewer.userId, { id })
    if (ended === undefined) {
      throw new NotFoundError('Session not found. GET /v1/auth/sessions lists your sessions.')
    }
    await recordAction(transaction, viewer, 'session.ended', { target: toTarget(ended) })
  })
}

/** Ends all sessions of the viewer except the current one. Throws like `requireSignIn`. */
export async function endOtherSessions({ db }: Pick<Services, 'db'>, viewer: Viewer): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    // Otherwise a session that one of them is just creating for a script would remain.
    await lockAccount(transaction, viewer.userId)
    await requireSignIn(transaction, viewer)
    for (const ended of await deleteSessions(transaction, viewer.userId, { except: viewer.session.id })) {
      await recordAction(transaction, viewer, 'session.ended', { target: toTarget(ended) })
    }
  })
}

/** Throws `sign_in_again` in a session for scripts: who has a script's token must not lock out its person. */
async function requireSignIn(transaction: DatabaseTransaction, { session }: Viewer): Promise<void> {
  const current = await lockSession(transaction, session.id)
  if (current?.script_name == null) return
  const message = 'A session for scripts ends only itself. Sign in in a browser.'
  throw new ApplicationError('sign_in_again', message)
}

function earliest(one: Date, other: Date): Date {
  return one < other ? one : other
}

function toTarget({ id, scriptName }: { id: number; scriptName: string | null }): AuditTarget {
  return { type: 'session', id, ...(scriptName === null ? {} : { name: scriptName }) }
}
