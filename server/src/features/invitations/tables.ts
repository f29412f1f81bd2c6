import type { Generated } from 'kysely'
import type { InvitationRole } from '../../base/roles.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    invitations: InvitationsTable
    replaced_invitation_links: ReplacedInvitationLinksTable
  }
}

export interface InvitationsTable {
  id: Generated<number>
  organization_id: number
  invitee_email: string
  invited_by_user_id: number
  role: InvitationRole
  status: Generated<'pending' | 'accepted' | 'rejected' | 'cancelled'>
  nonce: string
  token_hash: Buffer
  mail_id: number | null
  created_at: Date
  expires_at: Date
  link_copied_at: Date | null
  responded_at: Date | null
  responded_by_user_id: number | null
}

/** A trigger inserts the rows */
export interface ReplacedInvitationLinksTable {
  token_hash: Buffer
  invitation_id: number
}
