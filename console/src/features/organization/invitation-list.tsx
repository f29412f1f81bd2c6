import { useQuery } from '@tanstack/react-query'
import { Copy, UserPlus } from 'lucide-react'
import type { Invitation } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useNow } from '../../components/use-now.ts'
import { formatRelative } from '../../format.ts'
import { useMailIsFile } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { useManagedRoles } from './managed-roles.ts'
import { membersQuery } from '../../domain/members/queries.ts'
import { MailStatus } from './mail-status.tsx'
import { invitationsQuery } from './queries.ts'
import { useInvitationActions } from './use-invitation-actions.ts'

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
      <Loaded query={invitations} rows={3}>
        {(items) =>
          items.length === 0 ? (
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
          ) : (
            <ul className="divide-y">
              {items.map((invitation) => (
                <InvitationItem key={invitation.id} invitation={invitation} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

function InvitationItem({ invitation }: { invitation: Invitation }) {
  const { data: members } = useQuery(membersQuery)
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
          {text.organization.invitedBy(role, formatRelative(invitation.created_at), inviter?.name)}
          {'. '}
          {endOf(invitation)}
        </p>
        {open && <MailStatus invitation={invitation} isFile={isFile} />}
      </div>
      {open && <Actions invitation={invitation} isFile={isFile} />}
    </li>
  )
}

function Actions({ invitation, isFile }: { invitation: Invitation; isFile: boolean }) {
  const mayRenew = useManagedRoles().includes(invitation.role)
  const { copyLink, resend, cancel } = useInvitationActions(invitation)
  const { invitee_email: email, status } = invitation
  const words = text.organization[isFile ? 'renewal' : 'resending']
  return (
    <div className="flex gap-2">
      {mayRenew && isFile && status === 'pending' && (
        <Button
          size="small"
          aria-label={text.organization.copyLinkFor(email)}
          busy={copyLink.busy}
          onClick={copyLink.run}
        >
          {!copyLink.busy && <Copy aria-hidden />}
          {text.organization.copyLink}
        </Button>
      )}
      {mayRenew && (
        <Button size="small" aria-label={words.buttonFor(email)} busy={resend.busy} onClick={resend.run}>
          {words.button}
        </Button>
      )}
      <Button
        size="small"
        aria-label={text.organization.cancelInvitationTo(email)}
        busy={cancel.busy}
        onClick={cancel.run}
      >
        {text.common.cancel}
      </Button>
    </div>
  )
}

function endOf({ status, expires_at, responded_at }: Invitation): string {
  if (status === 'pending') return text.organization.expires(formatRelative(expires_at))
  if (status === 'expired') return text.organization.expired(formatRelative(expires_at))
  return responded_at ? text.organization.answered(formatRelative(responded_at)) : ''
}
