import type { Database } from '../../database/tables.ts'
import { invitationAnswered, invitationExpired, invitationNotFound, invitationReplaced } from './errors.ts'
import { getInvitationStatus } from './lifecycle.ts'
import { findInvitation, isReplacedLink } from './store.ts'
import type { Invitation } from './store.ts'

/** Finds a link's invitation. Throws `invitation_replaced` if a newer email has a link, and `not_found`. */
export async function requireInvitation(db: Database, tokenHash: Buffer): Promise<Invitation> {
  const invitation = await findInvitation(db, { tokenHash })
  if (invitation !== undefined) return invitation
  throw (await isReplacedLink(db, tokenHash)) ? invitationReplaced() : invitationNotFound()
}

/** Finds the invitation of a link. Throws like an answer if it cannot be answered at `at`. */
export async function requireOpenInvitation(db: Database, tokenHash: Buffer, at: Date): Promise<Invitation> {
  const invitation = await requireInvitation(db, tokenHash)
  const status = getInvitationStatus(invitation, at)
  if (status === 'expired') throw invitationExpired()
  if (status !== 'pending') throw invitationAnswered({ status })
  return invitation
}
