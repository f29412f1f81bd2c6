import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { countRegistration } from '../accounts/count-registration.ts'
import { createAccount, emailTaken } from '../accounts/create-account.ts'
import { hashPassword } from '../accounts/passwords.ts'
import { claimInvitation, recordAnswer } from './answer-invitation.ts'
import { requireOpenInvitation } from './require-open-invitation.ts'

/** Profile fields of an invitee. The email comes from the invitation. */
export interface InviteeDetails {
  name: string | null
  firstName: string | null
  lastName: string | null
  country: string | null
  contactNumber: string | null
}

/** Creates an account for an invitee without one. */
export async function registerInvitee(
  deps: Pick<Services, 'db' | 'clock' | 'config'>,
  visitor: Actor,
  tokenHash: Buffer,
  { password, ...details }: InviteeDetails & { password: string },
): Promise<{ userId: number; proof: { passwordHash: string } }> {
  const { db, clock, config } = deps
  const invitation = await requireOpenInvitation(db, tokenHash, clock())
  if (invitation.invitee_user_id !== null) throw emailTaken()
  return countRegistration(deps, visitor, async () => {
    const passwordHash = await hashPassword(config.passwordHashing, password)
    const account = { ...details, passwordHash, isEmailVerified: false }
    const userId = await db
      .transaction()
      .execute((transaction) => createInvitedAccount(transaction, visitor, tokenHash, account, clock()))
    return { userId, proof: { passwordHash } }
  })
}

/** Throws like `claimInvitation` and `createAccount`. An admin's copied link doesn't verify the email. */
export async function createInvitedAccount(
  transaction: DatabaseTransaction,
  visitor: Actor,
  tokenHash: Buffer,
  { isEmailVerified, ...account }: InviteeDetails & { passwordHash: string | null; isEmailVerified: boolean },
  at: Date,
): Promise<number> {
  const invitation = await claimInvitation(
    transaction,
    { tokenHash },
    { status: 'accepted', userId: null, at },
  )
  const userId = await createAccount(
    transaction,
    visitor,
    {
      ...account,
      email: invitation.invitee_email,
      emailVerifiedAt: isEmailVerified || invitation.link_copied_at === null ? at : null,
    },
    { organizationId: invitation.organization_id, role: invitation.role },
  )
  await transaction
    .updateTable('invitations')
    .set({ responded_by_user_id: userId })
    .where('id', '=', invitation.id)
    .execute()
  const { invitee_email: email, organization_id: organizationId } = invitation
  await recordAnswer(transaction, { ...visitor, userId, email, organizationId }, invitation)
  return userId
}
