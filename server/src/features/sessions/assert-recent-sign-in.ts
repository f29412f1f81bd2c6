import { ApplicationError } from '../../base/errors.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { isSignInSince } from './live-sessions.ts'

const recentMilliseconds = 10 * 60_000

/** Throws `sign_in_again` unless the session began with SSO within the last ten minutes. */
export async function assertRecentSignIn(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  { session: { id, authMethod } }: Viewer,
): Promise<void> {
  const since = new Date(clock().getTime() - recentMilliseconds)
  if (authMethod !== 'password' && (await isSignInSince(db, id, since))) return
  const message =
    'Confirm with your password, or sign in again through your provider and retry within ten minutes.'
  throw new ApplicationError('sign_in_again', message)
}
