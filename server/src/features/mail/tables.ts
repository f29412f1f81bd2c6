import type { Generated } from 'kysely'
import type { DefaultedTimestamp } from '../../database/tables.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    mails: MailsTable
  }
}

/** What an email says. `MailComposers` has a composer for each kind. */
export type MailKind =
  | 'invitation'
  | 'password_reset'
  | 'password_changed'
  | 'email_verification'
  | 'second_factor_added'
  | 'second_factor_deleted'
  | 'second_factors_reset'
  | 'recovery_codes_rotated'
  | 'recovery_code_used'
  | 'identity_linked'
  | 'identity_unlinked'
  | 'email_changed'
  | 'fresh_organization'
  | 'trial_exhausted'
  | 'organization_suspended'
  | 'budget_alert'

export interface MailsTable {
  id: Generated<number>
  kind: MailKind
  subject_id: number
  recipient: string
  message_id: string
  status: Generated<'pending' | 'sent' | 'failed' | 'superseded'>
  attempts: Generated<number>
  last_error: string | null
  created_at: Date
  sent_at: Date | null
  attempt_at: DefaultedTimestamp
}
