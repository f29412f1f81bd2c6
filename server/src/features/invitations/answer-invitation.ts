import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../errors.ts'
import type { Services } from '../../services.ts'
import { confirmEmail } from '../accounts/confirm-email.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { switchOrganization } from '../accounts/switch-organization.ts'
import { addMember } from '../organizations/memberships.ts'
import { invitationAnswered, invitationExpired, invitationNotFound } from './errors.ts'
import { answerPendingInvitation, findInvitation, getInvitation } from './store.ts'
import type { Invitation, InvitationKey } from './store.ts'

/**
 * Answers an invitation exactly once: of several concurrent answers, one succeeds and the others throw `invitation_answered`.
 * Also throws `invitation_expired` and `not_found`. The account is locked before the invitation, as during an SSO sign-in, to
 * avoid a deadlock.
 */
export async function claimInvitation(
  transaction: DatabaseTransaction,
  key: InvitationKey,
  answer: { status: 'accepted' | 'rejected'; userId: number | null; at: Date },
) {
  if (answer.userId !== null) await lockAccount(transaction, answer.userId)
  const claimed = await answerPendingInvitation(transaction, key, answer)
  if (claimed !== undefined) return claimed
  const invitation = await findInvitation(transaction, key)
  if (invitation === undefined) throw invitationNotFound()
  throw invitation.status === 'pending' ? invitationExpired() : invitationAnswered()
}

/**
 * Accepts an invitation for its invitee, who becomes a member and switches to the organization. Their email counts as verified,
 * because the token was emailed to it.
 */
export async function acceptInvitation(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  userId: number,
  tokenHash: Buffer,
): Promise<Invitation> {
  await requireInvitee(db, userId, tokenHash)
  const at = clock()
  return db.transaction().execute(async (transaction) => {
    const id = await acceptInvitationWithin(transaction, userId, tokenHash, at)
    return getInvitation(transaction, id)
  })
}

/** Accepts an invitation within a transaction. The caller must have checked the invitee. Returns the invitation's id. */
export async function acceptInvitationWithin(
  transaction: DatabaseTransaction,
  userId: number,
  tokenHash: Buffer,
  at: Date,
): Promise<number> {
  const { id, organization_id, role } = await claimInvitation(
    transaction,
    { tokenHash },
    { status: 'accepted', userId, at },
  )
  await addMember(transaction, { userId, organizationId: organization_id, role })
  await switchOrganization(transaction, { userId, organizationId: organization_id, at })
  await confirmEmail(transaction, userId, at)
  return id
}

/** Declines an invitation by its token, for its invitee. */
export async function rejectInvitationByToken(
  deps: Pick<Services, 'db' | 'clock'>,
  userId: number,
  tokenHash: Buffer,
): Promise<Invitation> {
  await requireInvitee(deps.db, userId, tokenHash)
  return reject(deps, userId, { tokenHash })
}

/** Declines an invitation by its id. Throws `not_found` if it is addressed to a different user. */
export async function rejectInvitation(
  deps: Pick<Services, 'db' | 'clock'>,
  userId: number,
  id: number,
): Promise<Invitation> {
  const invitation = await findInvitation(deps.db, { id })
  if (invitation?.invitee_user_id !== userId) throw invitationNotFound()
  return reject(deps, userId, { id })
}

function reject(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  userId: number,
  key: InvitationKey,
): Promise<Invitation> {
  return db.transaction().execute(async (transaction) => {
    const { id } = await claimInvitation(transaction, key, { status: 'rejected', userId, at: clock() })
    return getInvitation(transaction, id)
  })
}

async function requireInvitee(db: Services['db'], userId: number, tokenHash: Buffer): Promise<void> {
  const invitation = await findInvitation(db, { tokenHash })
  if (invitation === undefined) throw invitationNotFound()
  if (invitation.invitee_user_id !== userId) {
    throw new ApplicationError(
      'forbidden',
      'invitation_email_mismatch',
      'This invitation is for a different email. Sign in with the email it was sent to.',
    )
  }
}
