import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import type { Profile } from '../../contract.ts'
import { useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage, Skeleton } from '../../components/states.tsx'
import { useMailIsFile, usePasswordsAllowed } from '../../domain/installation.ts'
import { ssoProvidersQuery, useRequestPasswordReset } from '../../domain/session/sign-in-methods.ts'
import { formatDay } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { sections } from './sections.ts'

// Below the first screen
const ChangePasswordForm = lazyPart(() =>
  import('./change-password-form.tsx').then((module) => module.ChangePasswordForm),
)

/** The sign-in method and the password. */
export function SignInSection({ profile }: { profile: Profile }) {
  const { auth_method: method } = useSession().session
  const { data: providers = [] } = useQuery(ssoProvidersQuery)
  const passwords = usePasswordsAllowed()
  const provider = providers.find(({ name }) => name === method)?.display_name ?? method
  return (
    <Section id={sections.signIn} title={text.profile.signingIn}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-2">
        <dt className="text-muted">{text.profile.email}</dt>
        <dd>
          <span className="break-words">{profile.email}</span>
          <span className="block text-[0.8125rem] text-muted">{text.profile.emailHint}</span>
        </dd>
        <dt className="text-muted">{text.profile.method}</dt>
        <dd>{method === 'password' ? text.profile.byPassword : text.profile.byProvider(provider)}</dd>
        <dt className="text-muted">{text.profile.since}</dt>
        <dd>{formatDay(profile.created_at)}</dd>
      </dl>
      {passwords && (
        <div className="mt-5 grid gap-3 border-t pt-5">
          {profile.has_password ? (
            <Suspense fallback={<Skeleton className="h-36" />}>
              <ChangePasswordForm />
            </Suspense>
          ) : (
            <SetPassword profile={profile} />
          )}
        </div>
      )}
    </Section>
  )
}

/** Emails a link to set a password, for an account that signs in through a provider. */
function SetPassword({ profile }: { profile: Profile }) {
  const request = useRequestPasswordReset()
  const isFile = useMailIsFile()
  return (
    <>
      <p role="status">
        {request.isSuccess
          ? isFile
            ? text.profile.linkWritten
            : text.profile.linkSent(profile.email)
          : isFile
            ? text.profile.noMail
            : text.profile.hasNoPassword}
      </p>
      <ErrorMessage error={request.error} />
      {!request.isSuccess && (
        <Button
          className="justify-self-start"
          busy={request.isPending}
          onClick={() => request.mutate(profile.email)}
        >
          {text.profile.setPassword}
        </Button>
      )}
    </>
  )
}
