import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import { managedRoles, roleIds } from '../../base/roles.ts'
import type { InvitationRole, RoleName } from '../../base/roles.ts'
import type { InvitationLink } from './lifecycle.ts'

/** An invitation with its organization's name, inviter, invitee's account and newest email. */
export type Invitation = Awaited<ReturnType<typeof getInvitation>>

export type InvitationKey = { tokenHash: Buffer } | { id: number }

/** Whether the inviter still has a role that may give the role of the invitation. */
const isAllowed = sql<boolean>`EXISTS (
  SELECT FROM memberships JOIN users ON users.id = memberships.user_id
  WHERE memberships.organization_id = invitations.organization_id
    AND memberships.user_id = invitations.invited_by_user_id
    AND users.disabled_at IS NULL
    AND (${sql.join((Object.keys(roleIds) as RoleName[]).map(allowsRole), sql` OR `)}))`

function allowsRole(role: RoleName) {
  return sql`(memberships.role = ${role} AND invitations.role = ANY(${managedRoles(role)}))`
}

/** When an email of the invitation was last sent, which may be an earlier one than the newest */
const lastSentAt = sql<Date | null>`(SELECT max(sent.sent_at) FROM mails AS sent
  WHERE sent.kind = 'invitation' AND sent.subject_id = invitations.id)`

/** Selects from the table, or from changed rows: `db.with('invitations', …)` hides the table. */
function selectInvitations(db: Pick<Database, 'selectFrom'>) {
  return db
    .selectFrom('invitations')
    .innerJoin('organizations', 'organizations.id', 'invitations.organization_id')
    .innerJoin('users as inviter', 'inviter.id', 'invitations.invited_by_user_id')
    .leftJoin('users as invitee', (join) =>
      join.on(sql`lower(invitee.email)`, '=', sql`lower(invitations.invitee_email)`),
    )
    .leftJoin('mails', 'mails.id', 'invitations.mail_id')
    .select([
      'invitations.id',
      'invitations.organization_id',
      'organizations.name as organization_name',
      'invitations.invitee_email',
      'invitee.id as invitee_user_id',
      'invitations.invited_by_user_id',
      'inviter.name as inviter_name',
      'invitations.role',
      'invitations.status',
      'invitations.nonce',
      'invitations.token_hash',
      'invitations.mail_id',
      'mails.status as mail_status',
      'mails.last_error as mail_last_error',
      'invitations.created_at',
      'invitations.expires_at',
      'invitations.responded_at',
      'invitations.link_copied_at',
    ])
    .select([isAllowed.as('is_allowed'), lastSentAt.as('mail_sent_at')])
}

export function getInvitation(db: Database, id: number) {
  return selectInvitations(db).where('invitations.id', '=', id).executeTakeFirstOrThrow()
}

export function findInvitation(db: Database, key: InvitationKey): Promise<Invitation | undefined> {
  const selected = selectInvitations(db)
  return 'id' in key
    ? selected.where('invitations.id', '=', key.id).executeTakeFirst()
    : selected.where('invitations.token_hash', '=', key.tokenHash).executeTakeFirst()
}

/** True for the link of an earlier email of an invitation */
export async function isReplacedLink(db: Database, tokenHash: Buffer): Promise<boolean> {
  const row = await db
    .selectFrom('replaced_invitation_links')
    .select('invitation_id')
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  return row !== undefined
}

/** Lists an organization's invitations, newest first. */
export function listInvitations(db: Database, organizationId: number): Promise<Invitation[]> {
  return selectInvitations(db)
    .where('invitations.organization_id', '=', organizationId)
    .orderBy('invitations.created_at', 'desc')
    .orderBy('invitations.id', 'desc')
    .execute()
}

/** Lists the invitations to a user's email: pending ones first, then newest first. */
export function listInvitationsTo(db: Database, userId: number, at: Date): Promise<Invitation[]> {
  return selectInvitations(db)
    .where('invitee.id', '=', userId)
    .orderBy(sql`invitations.status = 'pending' AND invitations.expires_at > ${at}`, 'desc')
    .orderBy('invitations.created_at', 'desc')
    .orderBy('invitations.id', 'desc')
    .execute()
}

/** Inserts an invitation or overwrites an expired one; null if this email has a pending one there. */
export async function insertInvitation(
  db: Database,
  invitation: {
    organizationId: number
    email: string
    invitedByUserId: number
    role: InvitationRole
    at: Date
  },
  link: InvitationLink,
): Promise<number | null> {
  const values = {
    invitee_email: invitation.email,
    invited_by_user_id: invitation.invitedByUserId,
    role: invitation.role,
    nonce: link.nonce,
    token_hash: link.tokenHash,
    created_at: invitation.at,
    expires_at: link.expiresAt,
    link_copied_at: null,
  }
  const inserted = await db
    .insertInto('invitations')
    .values({ organization_id: invitation.organizationId, ...values })
    .onConflict((conflict) =>
      conflict
        .expression(sql`organization_id, lower(invitee_email)`)
        .where('status', '=', sql.lit('pending'))
        .doUpdateSet(values)
        .where('invitations.expires_at', '<=', invitation.at),
    )
    .returning('id')
    .executeTakeFirst()
  return inserted?.id ?? null
}

/** Replaces the link of an unanswered or expired invitation; false if it is answered. */
export async function renewInvitation(db: Database, id: number, link: InvitationLink): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitations')
    .set({
      nonce: link.nonce,
      token_hash: link.tokenHash,
      expires_at: link.expiresAt,
      link_copied_at: null,
    })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Records the newest email of an invitation, and returns the invitation. */
export function setInvitationMail(db: Database, id: number, mailId: number): Promise<Invitation> {
  const updated = db.with('invitations', (query) =>
    query.updateTable('invitations').set({ mail_id: mailId }).where('id', '=', id).returningAll(),
  )
  return selectInvitations(updated).executeTakeFirstOrThrow()
}

/** Records that a pending invitation's link was copied, and returns the link; undefined without one. */
export function markLinkCopied(
  db: Database,
  { id, organizationId }: { id: number; organizationId: number },
  at: Date,
): Promise<Pick<Invitation, 'invitee_email' | 'role' | 'nonce' | 'token_hash'> | undefined> {
  return db
    .updateTable('invitations')
    .set({ link_copied_at: sql`coalesce(link_copied_at, ${at})` })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .where('status', '=', 'pending')
    .where('expires_at', '>', at)
    .returning(['invitee_email', 'role', 'nonce', 'token_hash'])
    .executeTakeFirst()
}

/** Cancels and returns an inviter's unanswered invitations that their roles no longer allow. */
export function cancelDisallowedInvitations(
  db: Database,
  inviterId: number,
  canceller: { userId: number | null; at: Date },
): Promise<Pick<Invitation, 'id' | 'organization_id' | 'invitee_email'>[]> {
  return db
    .updateTable('invitations')
    .set({ status: 'cancelled', responded_at: canceller.at, responded_by_user_id: canceller.userId })
    .where('invited_by_user_id', '=', inviterId)
    .where('status', '=', 'pending')
    .where(sql<boolean>`NOT ${isAllowed}`)
    .returning(['id', 'organization_id', 'invitee_email'])
    .execute()
}

/** Answers an invitation and returns it; undefined if it doesn't exist, is answered or has expired. */
export function answerPendingInvitation(
  db: Database,
  key: InvitationKey,
  answer: { status: 'accepted' | 'rejected'; userId: number | null; at: Date },
): Promise<Invitation | undefined> {
  const answered = db.with('invitations', (query) =>
    query
      .updateTable('invitations')
      .set({ status: answer.status, responded_at: answer.at, responded_by_user_id: answer.userId })
      .where((where) => ('id' in key ? where('id', '=', key.id) : where('token_hash', '=', key.tokenHash)))
      .where('status', '=', 'pending')
      .where('expires_at', '>', answer.at)
      .returningAll(),
  )
  return selectInvitations(answered).executeTakeFirst()
}

/** Cancels a pending or expired invitation and returns it; undefined when it was answered or cancelled. */
export function cancelPendingInvitation(
  db: Database,
  id: number,
  userId: number,
  at: Date,
): Promise<Invitation | undefined> {
  const cancelled = db.with('invitations', (query) =>
    query
      .updateTable('invitations')
      .set({ status: 'cancelled', responded_at: at, responded_by_user_id: userId })
      .where('id', '=', id)
      .where('status', '=', 'pending')
      .returningAll(),
  )
  return selectInvitations(cancelled).executeTakeFirst()
}
