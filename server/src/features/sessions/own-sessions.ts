import { NotFoundError } from '../../base/errors.ts'
import { hashToken } from '../../base/hash-token.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { deleteSessions } from './delete-sessions.ts'
import { deleteSession, listSessions } from './store.ts'
import type { OwnSession } from './store.ts'

/** The viewer's active sessions, latest use first. */
export function listOwnSessions(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
): Promise<OwnSession[]> {
  return listSessions(db, viewer.userId, clock())
}

/** Ends the viewer's current session, which has this token. */
export async function signOut({ db }: Pick<Services, 'db'>, viewer: Viewer, token: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await deleteSession(transaction, hashToken(token))
    await recordAction(transaction, viewer, 'session.ended', {
      target: { type: 'session', id: viewer.session.id },
    })
  })
}

/** Ends one of the viewer's sessions. Throws `not_found` for those of others. */
export async function endOwnSession({ db }: Pick<Services, 'db'>, viewer: Viewer, id: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const ended = await deleteSessions(transaction, viewer.userId, { id })
    if (ended.length === 0) {
      throw new NotFoundError('Session not found. GET /v1/auth/sessions lists your sessions.')
    }
    await recordAction(transaction, viewer, 'session.ended', { target: { type: 'session', id } })
  })
}

/** Ends all sessions of the viewer except the current one. */
export async function endOtherSessions({ db }: Pick<Services, 'db'>, viewer: Viewer): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const ended = await deleteSessions(transaction, viewer.userId, { except: viewer.session.id })
    for (const id of ended) {
      await recordAction(transaction, viewer, 'session.ended', { target: { type: 'session', id } })
    }
  })
}
