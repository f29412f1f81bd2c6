import type { Database } from '../../database/tables.ts'
import { invitationAnswered, invitationExpired, invitationNotFound } from './errors.ts'
import { getInvitationStatus } from './lifecycle.ts'
import { findInvitation } from './store.ts'
import type { Invitation } from './store.ts'

/** Finds the invitation of a link. Throws the same error as an answer would if it cannot be answered at `at`. */
export async function requireOpenInvitation(db: Database, tokenHash: Buffer, at: Date): Promise<Invitation> {
  const invitation = await findInvitation(db, { tokenHash })
  if (invitation === undefined) throw invitationNotFound()
  const status = getInvitationStatus(invitation, at)
  if (status === 'expired') throw invitationExpired()
  if (status !== 'pending') throw invitationAnswered({ status })
  return invitation
}
