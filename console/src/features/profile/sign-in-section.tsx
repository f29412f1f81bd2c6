import { useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { focusField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { useToasts } from '../../components/toast.tsx'
import type { Profile } from '../../contract.ts'
import { useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useMailIsFile, usePasswordsAllowed } from '../../domain/installation.ts'
import { PasswordField } from '../../domain/session/password-field.tsx'
import { ssoProvidersQuery, useRequestPasswordReset } from '../../domain/session/sign-in-methods.ts'
import { formatDay } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { useChangePassword } from './queries.ts'
import { sections } from './sections.ts'

const EndingSessions = lazyPart(() =>
  import('../../domain/session/ending-sessions.tsx').then((module) => module.EndingSessions),
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
          {profile.has_password ? <ChangePasswordForm /> : <SetPassword profile={profile} />}
        </div>
      )}
    </Section>
  )
}

/** Changes the password; the other sessions end. */
function ChangePasswordForm() {
  const change = useChangePassword()
  const toasts = useToasts()
  // A new key empties the fields after a change.
  const [changes, setChanges] = useState(0)
  const isAddressed = useLocation({ select: ({ hash }) => hash === sections.signIn })
  const errors = fieldErrors(change.error)
  return (
    <Form<'current_password' | 'new_password'>
      key={changes}
      submitLabel={text.profile.changePassword}
      busy={change.isPending}
      error={change.error}
      onSubmit={(values) =>
        change.mutate(values, {
          onSuccess: () => {
            setChanges(changes + 1)
            toasts.success(text.profile.passwordChanged)
          },
        })
      }
    >
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <PasswordField
          ref={isAddressed ? focusField : undefined}
          label={text.profile.currentPassword}
          name="current_password"
          error={errors.current_password}
        />
        <PasswordField isNew name="new_password" error={errors.new_password} />
      </div>
      <Suspense>
        <EndingSessions />
      </Suspense>
    </Form>
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
