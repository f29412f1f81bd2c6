import { createHash } from 'node:crypto'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { networkOf } from '../../base/network.ts'
import type { Viewer } from '../../base/viewer.ts'
import { countAttempt } from '../accounts/rate-limits.ts'

/** The most emails a day. A recipient's limit spans all organizations. */
const mostPerDay = { user: 100, organization: 300, recipient: 10, network: 300 }

/** Counts an email to an invitee, to prevent spam. Throws a `RateLimitedError`; then roll back. */
export async function countInvitation(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  recipient: string,
  now: Date,
): Promise<void> {
  const keys = {
    user: viewer.userId,
    organization: viewer.organizationId,
    recipient: createHash('sha256').update(recipient.toLowerCase()).digest('base64url'),
    network: networkOf(viewer.address ?? ''),
  }
  const messages = {
    user: 'You sent too many invitations today. Try again tomorrow.',
    organization: 'Your organization sent too many invitations today. Try again tomorrow.',
    recipient: 'This person received too many invitations today. Try again tomorrow.',
    network: 'Too many invitations came from your network today. Try again tomorrow.',
  }
  // Always in this order, so that concurrent transactions cannot deadlock.
  for (const by of ['user', 'organization', 'recipient', 'network'] as const) {
    const limit = { attempts: mostPerDay[by], windowMilliseconds: 24 * 3_600_000, message: messages[by] }
    await countAttempt(transaction, `invitation-${by}:${keys[by]}`, limit, now)
  }
}
