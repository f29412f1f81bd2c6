import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/dialog.tsx'
import type { InvitationPreview, Session } from '../../contract.ts'
import { ApiError } from '../../api/client.ts'
import { sessionQuery } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ErrorMessage, ErrorState, Notice, Skeleton } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { ssoProvidersQuery } from '../../domain/session/sign-in-methods.ts'
import { formatMoment } from '../../format.ts'
import { useSignOut } from '../../domain/session/sign-out.ts'
import { text } from '../../text/index.ts'
import { AuthLayout } from './auth-layout.tsx'
import { invitationPreviewQuery, useAnswerInvitation, useInvitationSso } from './invitation-queries.ts'
import { InvitationRegistration } from './invitation-registration.tsx'
import { OrLine } from './sso-buttons.tsx'

/** An invitation, to answer with the session, by signing in, or by registering. */
export function InvitationPage() {
  const { token } = useParams({ from: '/invitations/$token' })
  const preview = useQuery(invitationPreviewQuery(token))
  const session = useQuery(sessionQuery)

  const code = preview.error instanceof ApiError ? preview.error.code : null
  if (code === 'not_found' || code === 'invitation_replaced') {
    const [title, words] =
      code === 'not_found'
        ? [text.auth.unknownTitle, text.auth.unknown]
        : [text.auth.replacedTitle, text.auth.replaced]
    return (
      <AuthLayout title={title} description={<p>{words}</p>}>
        <HomeButton />
      </AuthLayout>
    )
  }
  const error = preview.error ?? session.error
  if (error && (!preview.data || session.data === undefined)) {
    const retry = () => void Promise.all([preview.refetch(), session.refetch()])
    return (
      <AuthLayout title={text.auth.invitation}>
        <ErrorState error={error} onRetry={retry} />
      </AuthLayout>
    )
  }
  if (!preview.data || session.data === undefined) return <LoadingInvitation />
  return <KnownInvitation token={token} preview={preview.data} session={session.data} />
}

interface KnownInvitationProps {
  token: string
  preview: InvitationPreview
  session: Session | null
}

function KnownInvitation(props: KnownInvitationProps) {
  const { preview } = props
  const organization = preview.organization_name
  const navigate = useNavigate()
  const toasts = useToasts()
  const [joined, setJoined] = useState(false)
  const enter = () => {
    setJoined(true)
    toasts.success(text.auth.joined(organization))
    void navigate({ to: '/deployments', replace: true })
  }
  // Shown until the deployments page has loaded.
  if (joined) return <LoadingInvitation />
  if (preview.status !== 'pending') {
    return <EndedInvitation organization={organization} status={preview.status} />
  }
  return (
    <AuthLayout
      title={text.auth.invitationTitle(organization)}
      description={<p>{text.auth.invitationFor(preview.role, preview.inviter_name)}</p>}
    >
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        <dt className="text-muted">{text.auth.addressedTo}</dt>
        <dd className="font-medium wrap-anywhere">{preview.invitee_email}</dd>
        <dt className="text-muted">{text.auth.validUntil}</dt>
        <dd>{formatMoment(preview.expires_at)}</dd>
      </dl>
      <WaysToAnswer {...props} onJoined={enter} />
    </AuthLayout>
  )
}

interface EndedInvitationProps {
  organization: string
  status: Exclude<InvitationPreview['status'], 'pending'>
}

function EndedInvitation({ organization, status }: EndedInvitationProps) {
  const title = {
    accepted: text.auth.answeredTitle,
    rejected: text.auth.answeredTitle,
    expired: text.auth.expiredTitle,
    cancelled: text.auth.cancelledTitle,
  }[status]
  const words = {
    accepted: text.auth.accepted,
    rejected: text.auth.declined,
    expired: text.auth.expired,
    cancelled: text.auth.cancelled,
  }
  return (
    <AuthLayout title={title} description={<p role="status">{words[status](organization)}</p>}>
      <HomeButton />
    </AuthLayout>
  )
}

/** Answering with the session, or signing in or registering first. */
function WaysToAnswer({
  token,
  preview,
  session,
  onJoined,
}: KnownInvitationProps & { onJoined: () => void }) {
  const passwords = usePasswordsAllowed()
  const { organization_name: organization, invitee_email: invitee } = preview
  if (session) {
    return session.user.email.toLowerCase() === invitee.toLowerCase() ? (
      <InvitationAnswer token={token} organization={organization} onJoined={onJoined} />
    ) : (
      <OtherAccount invitee={invitee} current={session.user.email} />
    )
  }
  if (!passwords) return <InvitationSso token={token} alone />
  return (
    <>
      {preview.account_exists ? (
        <>
          <p>{text.auth.signInToAnswer}</p>
          <Button variant="primary" asChild>
            <Link
              to="/sign-in"
              search={{ return_to: `/invitations/${encodeURIComponent(token)}` }}
              state={{ email: invitee }}
            >
              {text.auth.signIn}
            </Link>
          </Button>
        </>
      ) : (
        <InvitationRegistration token={token} email={invitee} onJoined={onJoined} />
      )}
      <InvitationSso token={token} />
    </>
  )
}

/** Buttons that accept the invitation through an identity provider; renders nothing without one. */
function InvitationSso({ token, alone = false }: { token: string; alone?: boolean }) {
  const { data: providers = [] } = useQuery(ssoProvidersQuery)
  const start = useInvitationSso(token)
  if (providers.length === 0) return null
  return (
    <>
      {!alone && <OrLine />}
      <ErrorMessage error={start.error} />
      {providers.map(({ name, display_name }) => (
        <Button
          key={name}
          busy={(start.isPending || start.isSuccess) && start.variables === name}
          onClick={() => start.mutate(name)}
        >
          {text.auth.continueWith(display_name)}
        </Button>
      ))}
    </>
  )
}

/** The buttons to accept or decline, for the signed-in invitee. */
function InvitationAnswer({
  token,
  organization,
  onJoined,
}: {
  token: string
  organization: string
  onJoined: () => void
}) {
  const [declining, setDeclining] = useState(false)
  const answer = useAnswerInvitation(token, onJoined)
  return (
    <>
      <ErrorMessage error={answer.error} />
      <div className="grid grid-cols-2 gap-3">
        <Button disabled={answer.isPending} onClick={() => setDeclining(true)}>
          {text.auth.decline}
        </Button>
        <Button
          variant="primary"
          busy={answer.isPending && answer.variables === 'accept'}
          onClick={() => answer.mutate('accept')}
        >
          {text.auth.accept}
        </Button>
      </div>
      <ConfirmDialog
        open={declining}
        onClose={() => setDeclining(false)}
        title={text.auth.declineTitle}
        confirmLabel={text.auth.decline}
        busy={answer.isPending}
        onConfirm={() => answer.mutate('reject', { onSettled: () => setDeclining(false) })}
      >
        {text.auth.declineDescription(organization)}
      </ConfirmDialog>
    </>
  )
}

/** Asks the signed-in person to sign out, because the invitation is for another account. */
function OtherAccount({ invitee, current }: { invitee: string; current: string }) {
  const signOut = useSignOut({ stay: true })
  return (
    <>
      <Notice tone="warn">{text.auth.otherAccount(invitee, current)}</Notice>
      <ErrorMessage error={signOut.error} />
      <Button variant="primary" busy={signOut.isPending} onClick={() => signOut.mutate()}>
        {text.auth.signOut}
      </Button>
      <HomeButton />
    </>
  )
}

function HomeButton() {
  return (
    <Button asChild>
      <Link to="/deployments">{text.auth.home}</Link>
    </Button>
  )
}

function LoadingInvitation() {
  return (
    <AuthLayout title={text.auth.invitation} description={<Skeleton className="w-48" />}>
      <div role="status" aria-label={text.common.loading} className="grid gap-5">
        <Skeleton className="h-10" />
        <Skeleton className="h-9 rounded-md" />
        <Skeleton className="h-9 rounded-md" />
      </div>
    </AuthLayout>
  )
}
