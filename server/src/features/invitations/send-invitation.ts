import { createHash } from 'node:crypto'
import { networkOf } from '../../base/network.ts'
import type { Services } from '../../services.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { InvitationRole } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import { countAttempt } from '../accounts/rate-limits.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { waitForAttempt } from '../mail/wait-for-attempt.ts'
import { isMemberEmail } from '../organizations/memberships.ts'
import { assertMayAssign } from './assert-may-assign.ts'
import { invitationAnswered, invitationNotFound } from './errors.ts'
import { issueInvitationLink } from './lifecycle.ts'
import {
  findInvitation,
  getInvitation,
  insertInvitation,
  renewInvitation,
  setInvitationMail,
} from './store.ts'
import type { Invitation } from './store.ts'

type Deps = Pick<Services, 'db' | 'jobs' | 'clock' | 'config' | 'secretKey'>

/** The most emails a day. A recipient's limit spans all organizations. */
const mostPerDay = { user: 100, organization: 300, recipient: 10, network: 300 }

/** Invites a person; waits for the email. Throws `forbidden`, `already_member` and `invitation_pending`. */
export async function inviteToOrganization(
  deps: Deps,
  viewer: Viewer,
  { email, role }: { email: string; role: InvitationRole },
): Promise<Invitation> {
  const at = deps.clock()
  const { organizationId, userId } = viewer
  const link = issueInvitationLink(deps.secretKey, at)
  const queued = await deps.db.transaction().execute(async (transaction) => {
    await assertMayAssign(transaction, viewer, role)
    const invitation = { organizationId, email, invitedByUserId: userId, role, at }
    const id = await insertInvitation(transaction, invitation, link)
    // Check after the insert, which waits for a concurrent acceptance of the same invitation.
    if (await isMemberEmail(transaction, organizationId, email)) {
      const message = 'This person is already a member of your organization.'
      throw new ApplicationError('already_member', message)
    }
    if (id === null) {
      const message = 'An invitation to this email is already pending. Resend it instead.'
      throw new ApplicationError('invitation_pending', message)
    }
    const target = { type: 'invitation', id, name: email } as const
    await recordAction(transaction, viewer, 'invitation.created', { target, details: { role } })
    return queueInvitationMail(deps, transaction, viewer, { id, recipient: email })
  })
  return withDelivery(deps, queued)
}

/** Replaces the link for 7 days, at most five times an hour; waits for the email. Throws `forbidden`. */
export async function resendInvitation(deps: Deps, viewer: Viewer, id: number): Promise<Invitation> {
  const at = deps.clock()
  const link = issueInvitationLink(deps.secretKey, at)
  const queued = await deps.db.transaction().execute(async (transaction) => {
    const before = await findInvitation(transaction, { id })
    if (before?.organization_id !== viewer.organizationId) throw invitationNotFound()
    await assertMayAssign(transaction, viewer, before.role)
    if (!(await renewInvitation(transaction, id, link))) {
      throw invitationAnswered(await getInvitation(transaction, id))
    }
    await countAttempt(transaction, `invitation-resend:${id}`, resends, at)
    const target = { type: 'invitation', id, name: before.invitee_email } as const
    await recordAction(transaction, viewer, 'invitation.resent', { target })
    return queueInvitationMail(deps, transaction, viewer, { id, recipient: before.invitee_email })
  })
  return withDelivery(deps, queued)
}

/** Waits for the first attempt at the newest email, so that an inviter sees at once if it failed. */
async function withDelivery(deps: Deps, { id, mail_id }: Invitation): Promise<Invitation> {
  if (mail_id !== null) await waitForAttempt(deps, mail_id)
  return getInvitation(deps.db, id)
}

async function queueInvitationMail(
  deps: Deps,
  transaction: DatabaseTransaction,
  viewer: Viewer,
  { id, recipient }: { id: number; recipient: string },
): Promise<Invitation> {
  if (deps.config.mail.url !== null) await countInvitation(transaction, viewer, recipient, deps.clock())
  const mailId = await queueMail(deps, transaction, { kind: 'invitation', subjectId: id, recipient })
  return setInvitationMail(transaction, id, mailId)
}

const resends = {
  attempts: 5,
  windowMilliseconds: 3_600_000,
  message: 'This invitation was resent five times within an hour. Try again later.',
}

/** Counts an email to an invitee, to prevent spam. Throws a `RateLimitedError`; then roll back. */
async function countInvitation(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  recipient: string,
  now: Date,
): Promise<void> {
  const keys = {
    user: viewer.userId,
    organization: viewer.organizationId,
    recipient: createHash('sha256').update(recipient.toLowerCase()).digest('base64url'),
    network: networkOf(viewer.address ?? ''),
  }
  const messages = {
    user: 'You sent too many invitations today. Try again tomorrow.',
    organization: 'Your organization sent too many invitations today. Try again tomorrow.',
    recipient: 'This person received too many invitations today. Try again tomorrow.',
    network: 'Too many invitations came from your network today. Try again tomorrow.',
  }
  // Always in this order, so that concurrent transactions cannot deadlock.
  for (const by of ['user', 'organization', 'recipient', 'network'] as const) {
    const limit = { attempts: mostPerDay[by], windowMilliseconds: 24 * 3_600_000, message: messages[by] }
    await countAttempt(transaction, `invitation-${by}:${keys[by]}`, limit, now)
  }
}
