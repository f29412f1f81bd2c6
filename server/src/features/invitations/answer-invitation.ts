import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Actor, Viewer } from '../../base/viewer.ts'
import { markEmailVerified } from '../accounts/mark-email-verified.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { switchOrganization } from '../accounts/switch-organization.ts'
import { recordAction } from '../audit/record-action.ts'
import { addMember } from '../organizations/memberships.ts'
import { invitationAnswered, invitationExpired, invitationNotFound } from './errors.ts'
import { requireInvitation } from './require-open-invitation.ts'
import { answerPendingInvitation, findInvitation, getInvitation } from './store.ts'
import type { Invitation, InvitationKey } from './store.ts'

/**
 * Answers an invitation exactly once. Throws `invitation_answered`, `invitation_expired`, `not_found` and
 * `invitation_replaced`. Locks the account before the invitation, like an SSO sign-in, to avoid a deadlock.
 */
export async function claimInvitation(
  transaction: DatabaseTransaction,
  key: InvitationKey,
  answer: { status: 'accepted' | 'rejected'; userId: number | null; at: Date },
): Promise<Invitation> {
  if (answer.userId !== null) await lockAccount(transaction, answer.userId)
  const claimed = await answerPendingInvitation(transaction, key, answer)
  if (claimed !== undefined) {
    // A change that bypasses the API may have left an invitation that its inviter may no longer make.
    if (answer.status === 'accepted' && !claimed.is_allowed) throw invitationAnswered({ status: 'cancelled' })
    return claimed
  }
  const invitation =
    'id' in key
      ? await getInvitation(transaction, key.id)
      : await requireInvitation(transaction, key.tokenHash)
  throw invitation.status === 'pending' ? invitationExpired() : invitationAnswered(invitation)
}

/** Accepts an invitation: joins, switches, and verifies the email unless an admin copied the link. */
export async function acceptInvitation(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  tokenHash: Buffer,
): Promise<Invitation> {
  await requireInvitee(db, viewer.userId, tokenHash)
  const at = clock()
  return db
    .transaction()
    .execute((transaction) => acceptInvitationWithin(transaction, viewer, viewer.userId, tokenHash, at))
}

/** Accepts an invitation within a transaction. The caller must have checked the invitee. */
export async function acceptInvitationWithin(
  transaction: DatabaseTransaction,
  actor: Actor,
  userId: number,
  tokenHash: Buffer,
  at: Date,
): Promise<Invitation> {
  const invitation = await claimInvitation(transaction, { tokenHash }, { status: 'accepted', userId, at })
  const { organization_id: organizationId, role } = invitation
  await addMember(transaction, { userId, organizationId, role })
  await switchOrganization(transaction, { userId, organizationId, at })
  if (invitation.link_copied_at === null) await markEmailVerified(transaction, userId, at)
  await recordAnswer(transaction, actor, invitation)
  return invitation
}

/** Declines an invitation by its token, for its invitee. */
export async function declineInvitationByToken(
  deps: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  tokenHash: Buffer,
): Promise<Invitation> {
  await requireInvitee(deps.db, viewer.userId, tokenHash)
  return reject(deps, viewer, { tokenHash })
}

/** Declines an invitation by its id. Throws `not_found` if it is addressed to a different user. */
export async function declineInvitation(
  deps: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  id: number,
): Promise<Invitation> {
  const invitation = await findInvitation(deps.db, { id })
  if (invitation?.invitee_user_id !== viewer.userId) throw invitationNotFound()
  return reject(deps, viewer, { id })
}

function reject(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  key: InvitationKey,
): Promise<Invitation> {
  return db.transaction().execute(async (transaction) => {
    const answer = { status: 'rejected', userId: viewer.userId, at: clock() } as const
    const invitation = await claimInvitation(transaction, key, answer)
    await recordAnswer(transaction, viewer, invitation)
    return invitation
  })
}

/** Records an answer in the audit log of the organization that invited. */
export async function recordAnswer(
  transaction: DatabaseTransaction,
  actor: Actor,
  invitation: Invitation,
): Promise<void> {
  const { id, invitee_email: name, organization_id: organizationId, role, status } = invitation
  const action = status === 'accepted' ? 'invitation.accepted' : 'invitation.rejected'
  const target = { type: 'invitation', id, name } as const
  await recordAction(transaction, actor, action, { target, organizationId, details: { role } })
}

async function requireInvitee(db: Services['db'], userId: number, tokenHash: Buffer): Promise<void> {
  const invitation = await requireInvitation(db, tokenHash)
  if (invitation.invitee_user_id !== userId) {
    throw new ApplicationError(
      'invitation_email_mismatch',
      'This invitation is for a different email. Sign in with the email it was sent to.',
    )
  }
}
