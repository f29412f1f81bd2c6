import type { Database } from '../../database/tables.ts'
import { invitationAnswered, invitationExpired, invitationNotFound } from './errors.ts'
import { getInvitationStatus } from './lifecycle.ts'
import { findInvitation } from './store.ts'
import type { Invitation } from './store.ts'

/** The invitation of a link, if it can be answered at `at`; else throws why not, as an answer would. */
export async function requireOpenInvitation(db: Database, tokenHash: Buffer, at: Date): Promise<Invitation> {
  const invitation = await findInvitation(db, { tokenHash })
  if (invitation === undefined) throw invitationNotFound()
  const status = getInvitationStatus(invitation, at)
  if (status === 'expired') throw invitationExpired()
  if (status !== 'pending') throw invitationAnswered()
  return invitation
}
