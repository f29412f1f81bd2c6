import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { invitationAnswered, invitationNotFound } from './errors.ts'
import { cancelPendingInvitation, findInvitation, getInvitation } from './store.ts'
import type { Invitation } from './store.ts'

/** Cancels a pending or expired invitation of the viewer's organization. Its link stops working. */
export function cancelInvitation(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  id: number,
): Promise<Invitation> {
  return db.transaction().execute(async (transaction) => {
    const before = await findInvitation(transaction, { id })
    if (before?.organization_id !== viewer.organizationId) throw invitationNotFound()
    const cancelled = await cancelPendingInvitation(transaction, id, viewer.userId, clock())
    if (cancelled === undefined) throw invitationAnswered(await getInvitation(transaction, id))
    const target = { type: 'invitation', id, name: before.invitee_email } as const
    await recordAction(transaction, viewer, 'invitation.cancelled', { target })
    return cancelled
  })
}
