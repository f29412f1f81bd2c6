import { useState } from 'react'
import type { Invitation } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useMailIsFile } from '../../domain/installation.ts'
import { formatMoment } from '../../format.ts'
import { text } from '../../text/index.ts'
import { useOwnInvitations } from '../../domain/session/invitations-query.ts'
import { DomainOffer, useDomainOffer } from './domain-offer.tsx'
import { useDeclineInvitation } from './queries.ts'
import { sections } from './sections.ts'

/** The person's pending invitations. Accepting requires the link in the email. */
export function OwnInvitations() {
  const isFile = useMailIsFile()
  const invitations = useOwnInvitations()
  const [declining, setDeclining] = useState<Invitation | null>(null)
  const waiting = invitations.data ?? []
  const offer = useDomainOffer()
  return (
    <Section
      id={sections.invitations}
      title={text.profile.invitations}
      {...(waiting.length > 0 && {
        description: isFile ? text.profile.invitationsDescriptionFile : text.profile.invitationsDescription,
      })}
      flush
    >
      {invitations.isLoading ? (
        <SkeletonRows count={1} />
      ) : invitations.error && !invitations.data ? (
        <ErrorState error={invitations.error} onRetry={() => void invitations.refetch()} />
      ) : waiting.length === 0 && offer === null ? (
        <p className="p-5 text-muted">{text.profile.noInvitations}</p>
      ) : (
        <ul className="divide-y">
          {offer && <DomainOffer offer={offer} />}
          {waiting.map((invitation) => (
            <InvitationItem
              key={invitation.id}
              invitation={invitation}
              onDecline={() => setDeclining(invitation)}
            />
          ))}
        </ul>
      )}
      {declining && <DeclineDialog invitation={declining} onClose={() => setDeclining(null)} />}
    </Section>
  )
}

function InvitationItem({ invitation, onDecline }: { invitation: Invitation; onDecline: () => void }) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 px-5 py-4">
      <div className="grid min-w-0 gap-0.5">
        <p className="font-medium break-words">{invitation.organization_name}</p>
        <p className="text-[0.8125rem] text-muted">
          {text.profile.invitedAs(text.shell.role[invitation.role], formatMoment(invitation.expires_at))}
        </p>
      </div>
      <Button
        size="small"
        aria-label={text.profile.declineFrom(invitation.organization_name)}
        onClick={onDecline}
      >
        {text.profile.decline}
      </Button>
    </li>
  )
}

function DeclineDialog({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const decline = useDeclineInvitation()
  const toasts = useToasts()
  const onSuccess = () => {
    onClose()
    toasts.success(text.profile.declined)
  }
  return (
    <ConfirmDialog
      onClose={onClose}
      title={text.profile.declineTitle}
      confirmLabel={text.profile.decline}
      busy={decline.isPending}
      error={decline.error}
      onConfirm={() => decline.mutate(invitation.id, { onSuccess })}
    >
      <p>{text.profile.declineDescription(invitation.organization_name)}</p>
    </ConfirmDialog>
  )
}
