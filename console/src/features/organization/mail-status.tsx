import { Mail, MailCheck, MailX } from 'lucide-react'
import type { Invitation } from '../../contract.ts'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'

/** Whether the email was sent. The invitee cannot answer without it. */
export function MailStatus({ invitation, isFile }: { invitation: Invitation; isFile: boolean }) {
  const { email_status: status, email_sent_at: sentAt, email_last_error: reason } = invitation
  if (status === 'failed') {
    return (
      <p className="flex items-start gap-1.5 text-[0.8125rem] text-bad">
        <MailX aria-hidden className="mt-0.5 size-4 shrink-0" />
        <span className="min-w-0 break-words">
          {text.organization.mailFailed} {reason}
        </span>
      </p>
    )
  }
  const Icon = status === 'sent' && !isFile ? MailCheck : Mail
  return (
    <p className="flex items-center gap-1.5 text-[0.8125rem] text-muted">
      <Icon aria-hidden className="size-4 shrink-0" />
      {isFile
        ? text.organization.mailWritten
        : status === 'sent' && sentAt
          ? text.organization.mailSent(formatRelative(sentAt))
          : text.organization.mailPending}
    </p>
  )
}
