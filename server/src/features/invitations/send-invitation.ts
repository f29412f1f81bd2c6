import type { Services } from '../../services.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError, RateLimitedError } from '../../errors.ts'
import type { InvitationRole } from '../../roles.ts'
import type { Viewer } from '../../viewer.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { isMemberEmail } from '../organizations/memberships.ts'
import { invitationAnswered, invitationNotFound } from './errors.ts'
import { issueInvitationLink, resendInterval } from './lifecycle.ts'
import {
  findInvitation,
  getInvitation,
  insertInvitation,
  renewInvitation,
  setInvitationMail,
} from './store.ts'
import type { Invitation } from './store.ts'

type Deps = Pick<Services, 'db' | 'jobs' | 'clock' | 'config' | 'secretKey'>

/** Invites an e-mail address into the viewer's organization. Throws the conflicts `already_member` and `invitation_pending`. */
export function inviteToOrganization(
  application: Deps,
  { organizationId, userId }: Viewer,
  { email, role }: { email: string; role: InvitationRole },
): Promise<Invitation> {
  const at = application.clock()
  const link = issueInvitationLink(application.secretKey, at)
  return application.db.transaction().execute(async (transaction) => {
    const invitation = { organizationId, email, invitedByUserId: userId, role, at }
    const id = await insertInvitation(transaction, invitation, link)
    // Only now: the insertion waits for an invitation that is being accepted at this moment.
    if (await isMemberEmail(transaction, organizationId, email)) {
      const message = 'Somebody with this e-mail address is a member already.'
      throw new ApplicationError('conflict', 'already_member', message)
    }
    if (id === null) {
      const message = 'There is a pending invitation to this e-mail address; send it again instead.'
      throw new ApplicationError('conflict', 'invitation_pending', message)
    }
    return queueInvitationMail(application, transaction, id)
  })
}

/**
 * Sends an unanswered invitation of the viewer's organization again, with another link that is good for 7 days; the old link
 * is void from then on. At most once a minute.
 */
export function resendInvitation(
  application: Deps,
  { organizationId }: Viewer,
  id: number,
): Promise<Invitation> {
  const at = application.clock()
  const link = issueInvitationLink(application.secretKey, at)
  return application.db.transaction().execute(async (transaction) => {
    const before = await findInvitation(transaction, { id })
    if (before?.organization_id !== organizationId) throw invitationNotFound()
    if (!(await renewInvitation(transaction, id, link, at))) {
      const { status, resent_at } = await getInvitation(transaction, id)
      if (status !== 'pending') throw invitationAnswered()
      const wait = (resent_at?.getTime() ?? 0) + resendInterval - at.getTime()
      throw new RateLimitedError(wait / 1000, 'This invitation was sent again a moment ago. Wait a minute.')
    }
    return queueInvitationMail(application, transaction, id)
  })
}

async function queueInvitationMail(
  application: Deps,
  transaction: DatabaseTransaction,
  id: number,
): Promise<Invitation> {
  const { invitee_email: recipient } = await getInvitation(transaction, id)
  const mailId = await queueMail(application, transaction, { kind: 'invitation', subjectId: id, recipient })
  await setInvitationMail(transaction, id, mailId)
  return getInvitation(transaction, id)
}
