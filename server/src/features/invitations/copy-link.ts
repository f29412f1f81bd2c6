import type { Config } from '../../config/config.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { recoverLinkToken } from '../mail/link-token.ts'
import { assertMayAssign } from './assert-may-assign.ts'
import { invitationAnswered, invitationExpired, invitationNotFound } from './errors.ts'
import { findInvitation, markLinkCopied } from './store.ts'

/** The URL of an invitation's current link. */
export function composeInvitationUrl(
  { config, secretKey }: { config: Pick<Config, 'publicUrl'>; secretKey: string },
  invitation: { nonce: string; token_hash: Buffer },
): string {
  const token = recoverLinkToken(secretKey, 'invitation', invitation)
  return `${config.publicUrl.href.replace(/\/$/, '')}/invitations/${token}`
}

/**
 * Returns a pending invitation's link, for a server without email. It then doesn't verify the invitee's
 * email, because the admin can use it. Throws `link_emailed` with email, `forbidden`, and an answer's errors.
 */
export async function copyInvitationLink(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  viewer: Viewer,
  id: number,
): Promise<string> {
  if (deps.config.mail.url !== null) {
    const message = 'This server emails the links of invitations. Resend the invitation instead.'
    throw new ApplicationError('link_emailed', message)
  }
  const { organizationId } = viewer
  return deps.db.transaction().execute(async (transaction) => {
    const copied = await markLinkCopied(transaction, { id, organizationId }, deps.clock())
    if (copied === undefined) {
      const invitation = await findInvitation(transaction, { id })
      if (invitation?.organization_id !== organizationId) throw invitationNotFound()
      throw invitation.status === 'pending' ? invitationExpired() : invitationAnswered(invitation)
    }
    await assertMayAssign(transaction, viewer, copied.role)
    const target = { type: 'invitation', id, name: copied.invitee_email } as const
    await recordAction(transaction, viewer, 'invitation.link_copied', { target })
    return composeInvitationUrl(deps, copied)
  })
}
