import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Actor } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { cancelDisallowedInvitations } from './store.ts'

/** After a change of a person's role or account: cancels their open invitations that it doesn't allow. */
export async function cancelInvitationsOf(
  transaction: DatabaseTransaction,
  actor: Actor,
  inviterId: number,
  at: Date,
): Promise<void> {
  const cancelled = await cancelDisallowedInvitations(transaction, inviterId, { userId: actor.userId, at })
  for (const { id, organization_id: organizationId, invitee_email: name } of cancelled) {
    const target = { type: 'invitation', id, name } as const
    const details = { invited_by_user_id: inviterId }
    await recordAction(transaction, actor, 'invitation.cancelled', { organizationId, target, details })
  }
}
