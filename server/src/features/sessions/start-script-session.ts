import { randomBytes } from 'node:crypto'
import { ApplicationError } from '../../base/errors.ts'
import { hashToken } from '../../base/hash-token.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { latestEnd, lifetime } from './lifetime.ts'
import type { StartedSession } from './start-session.ts'
import { countScriptSessions, insertSession, lockSession } from './store.ts'

/** How many sessions for scripts a person may have at a time. */
export const maxScriptSessions = 20

/**
 * Starts a script's session with the current one's method and latest end. Throws `not_authenticated` if that
 * has ended, `sign_in_again` if it is a script's too, and `too_many_script_sessions`.
 */
export async function startScriptSession(
  { clock, config }: Pick<Services, 'clock' | 'config'>,
  transaction: DatabaseTransaction,
  viewer: Viewer,
  name: string,
): Promise<StartedSession> {
  const { userId, session: current } = viewer
  const createdAt = clock()
  // A concurrent end of the person's sessions waits for the lock, and then ends the new one too.
  await lockAccount(transaction, userId)
  const creating = await lockSession(transaction, current.id)
  if (creating === undefined) throw new ApplicationError('not_authenticated', 'Sign in first.')
  if (creating.script_name !== null) {
    const message = 'A session for scripts cannot create another. Sign in in a browser.'
    throw new ApplicationError('sign_in_again', message)
  }
  if ((await countScriptSessions(transaction, userId, createdAt)) >= maxScriptSessions) {
    const message = `You have ${maxScriptSessions} sessions for scripts. End one that you no longer need.`
    throw new ApplicationError('too_many_script_sessions', message)
  }
  const token = randomBytes(32).toString('base64url')
  const { authMethod } = current
  const end = latestEnd(
    { auth_method: authMethod, created_at: createdAt, ends_at: creating.ends_at },
    config.sso,
  )
  const expiresAt = new Date(Math.min(createdAt.getTime() + lifetime, end.getTime()))
  const id = await insertSession(transaction, {
    tokenHash: hashToken(token),
    userId,
    authMethod,
    address: null,
    userAgent: null,
    createdAt,
    expiresAt,
    endsAt: creating.ends_at,
    scriptName: name,
  })
  await recordAction(transaction, viewer, 'session.created_for_scripts', {
    target: { type: 'session', id, name },
  })
  return { id, token, expiresAt }
}
