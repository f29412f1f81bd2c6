import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import type { Profile } from '../../contract.ts'
import { useSession } from '../../api/session.ts'
import { Section } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { ssoProvidersQuery } from '../../domain/session/sign-in-methods.ts'
import { formatDay } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { sections } from './sections.ts'

// Below the first screen; most people have a password.
const ChangePasswordForm = lazyPart(() =>
  import('./change-password-form.tsx').then((module) => module.ChangePasswordForm),
)

const SetPassword = lazyPart(() => import('./set-password.tsx').then((module) => module.SetPassword))

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
          <Suspense fallback={<Skeleton className="h-36" />}>
            {profile.has_password ? <ChangePasswordForm /> : <SetPassword profile={profile} />}
          </Suspense>
        </div>
      )}
    </Section>
  )
}
