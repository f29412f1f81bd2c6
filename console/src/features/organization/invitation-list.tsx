import { useQuery } from '@tanstack/react-query'
import { Copy, Mail, MailCheck, MailX, UserPlus } from 'lucide-react'
import type { Invitation } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { copyText } from '../../components/copy-text.ts'
import { Section } from '../../components/page.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useNow } from '../../components/use-now.ts'
import { formatRelative } from '../../format.ts'
import { useMailIsFile } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { useManagedRoles } from './managed-roles.ts'
import { membersQuery } from '../../domain/members/queries.ts'
import { invitationsQuery, useInvitationLink, useCancelInvitation, useResendInvitation } from './queries.ts'

const tones: Record<Invitation['status'], Tone> = {
  pending: 'busy',
  accepted: 'good',
  rejected: 'neutral',
  expired: 'warn',
  cancelled: 'neutral',
}

/** The invitations with the status of each and of its email. */
export function InvitationList({ onInvite }: { onInvite: () => void }) {
  const invitations = useQuery(invitationsQuery)
  // A poll without changes does not re-render, so update relative times here.
  useNow(10_000)
  return (
    <Section flush>
      {invitations.data?.length === 0 ? (
        <EmptyState
          icon={<UserPlus />}
          title={text.organization.noInvitations}
          action={
            <Button variant="primary" onClick={onInvite}>
              {text.organization.inviteTitle}
            </Button>
          }
        >
          {text.organization.noInvitationsHint}
        </EmptyState>
      ) : invitations.data ? (
        <ul className="divide-y">
          {invitations.data.map((invitation) => (
            <InvitationItem key={invitation.id} invitation={invitation} />
          ))}
        </ul>
      ) : invitations.error ? (
        <ErrorState error={invitations.error} onRetry={() => void invitations.refetch()} />
      ) : (
        <SkeletonRows count={3} />
      )}
    </Section>
  )
}

function InvitationItem({ invitation }: { invitation: Invitation }) {
  const { data: members } = useQuery(membersQuery)
  const mayRenew = useManagedRoles().includes(invitation.role)
  const isFile = useMailIsFile()
  const { invitee_email: email, status } = invitation
  const inviter = members?.find(({ user_id }) => user_id === invitation.invited_by_user_id)
  const role = text.shell.role[invitation.role]
  const open = status === 'pending' || status === 'expired'
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 px-5 py-4">
      <div className="grid min-w-0 flex-1 basis-72 gap-1">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium break-all">{email}</span>
          <Badge tone={tones[status]}>{text.organization.statuses[status]}</Badge>
        </p>
        <p className="text-[0.8125rem] wrap-anywhere text-muted">
          {text.organization.invited(role, formatRelative(invitation.created_at), inviter?.name)}
          {'. '}
          {endOf(invitation)}
        </p>
        {open && <MailStatus invitation={invitation} isFile={isFile} />}
      </div>
      {open && (
        <div className="flex gap-2">
          {mayRenew && isFile && status === 'pending' && <CopyLinkButton invitation={invitation} />}
          {mayRenew && <ResendButton invitation={invitation} isFile={isFile} />}
          <CancelButton invitation={invitation} />
        </div>
      )}
    </li>
  )
}

function ResendButton({ invitation, isFile }: { invitation: Invitation; isFile: boolean }) {
  const resend = useResendInvitation()
  const toasts = useToasts()
  const { id, invitee_email: email } = invitation
  const words = text.organization[isFile ? 'renewal' : 'resending']
  return (
    <Button
      size="small"
      aria-label={words.buttonFor(email)}
      busy={resend.isPending}
      onClick={() =>
        resend.mutate(id, {
          onSuccess: () => toasts.success(words.done(email)),
          onError: toasts.error,
        })
      }
    >
      {words.button}
    </Button>
  )
}

function CancelButton({ invitation: { id, invitee_email: email } }: { invitation: Invitation }) {
  const cancel = useCancelInvitation()
  const toasts = useToasts()
  return (
    <Button
      size="small"
      aria-label={text.organization.cancelInvitationTo(email)}
      busy={cancel.isPending}
      onClick={() =>
        cancel.mutate(id, {
          onSuccess: () => toasts.success(text.organization.invitationCancelled(email)),
          onError: toasts.error,
        })
      }
    >
      {text.common.cancel}
    </Button>
  )
}

/** Copies the link if the server can't email it to the invitee. */
function CopyLinkButton({ invitation: { id, invitee_email: email } }: { invitation: Invitation }) {
  const link = useInvitationLink()
  const toasts = useToasts()
  const copy = async () => {
    try {
      const { url } = await link.mutateAsync(id)
      await copyText(url)
      toasts.success(text.organization.copiedLink(email))
    } catch (error) {
      toasts.error(error)
    }
  }
  return (
    <Button
      size="small"
      aria-label={text.organization.copyLinkFor(email)}
      busy={link.isPending}
      onClick={() => void copy()}
    >
      {!link.isPending && <Copy aria-hidden />}
      {text.organization.copyLink}
    </Button>
  )
}

function endOf({ status, expires_at, responded_at }: Invitation): string {
  if (status === 'pending') return text.organization.expires(formatRelative(expires_at))
  if (status === 'expired') return text.organization.expired(formatRelative(expires_at))
  return responded_at ? text.organization.answered(formatRelative(responded_at)) : ''
}

/** Whether the email was sent. The invitee cannot answer without it. */
function MailStatus({ invitation, isFile }: { invitation: Invitation; isFile: boolean }) {
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
