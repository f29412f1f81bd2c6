import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { CredentialsInput } from '../../contract.ts'
import { focusField } from '../../components/field.tsx'
import { Notice } from '../../components/states.tsx'
import { installationQuery } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { EmailField } from './account-fields.tsx'
import { AuthForm } from './auth-form.tsx'
import { authLink, SignInLayout } from './auth-layout.tsx'
import { PasswordField } from '../../domain/session/password-field.tsx'
import { useSignIn } from './queries.ts'
import { SecondStep } from './second-step.tsx'
import { readFactorDemand } from './second-step-queries.ts'
import type { FactorDemand } from './second-step-queries.ts'

export function SignInPage() {
  const { return_to, error: ssoError } = useSearch({ from: '/sign-in' })
  const { email: knownEmail = '', passwordSet, sessionEnded } = useLocation({ select: ({ state }) => state })
  const [email, setEmail] = useState(knownEmail)
  const [demand, setDemand] = useState<FactorDemand | null>(null)
  const signIn = useSignIn()
  const { data: installation } = useQuery(installationQuery)
  const enter = (credentials: CredentialsInput) =>
    signIn.mutate(credentials, {
      onError: (error) => {
        const demanded = readFactorDemand(error, credentials)
        if (!demanded) return
        signIn.reset()
        setDemand(demanded)
      },
    })
  if (demand) return <SecondStep demand={demand} returnTo={return_to} onBack={() => setDemand(null)} />
  const registerLink = (label: string) => (
    <Link to="/register" search={{ return_to }} className={authLink}>
      {label}
    </Link>
  )
  const mayRegister = installation?.registration !== 'invited'
  const isEmpty = installation?.accounts_exist === false && installation.password_sign_in && mayRegister
  return (
    <SignInLayout
      title={text.auth.signIn}
      returnTo={return_to}
      footer={
        mayRegister &&
        !isEmpty && (
          <>
            {text.auth.noAccount} {registerLink(text.auth.createAccount)}
          </>
        )
      }
      notice={
        <>
          {isEmpty && (
            <Notice action={registerLink(text.auth.createFirstAccount)}>{text.auth.noAccounts}</Notice>
          )}
          {sessionEnded && <Notice tone="warn">{text.auth.sessionEnded}</Notice>}
          {passwordSet && <Notice tone="good">{text.auth.passwordSet}</Notice>}
          {ssoError && <Notice tone="bad">{text.auth.ssoFailure(ssoError)}</Notice>}
        </>
      }
    >
      <AuthForm<'email' | 'password'> mutation={signIn} submitLabel={text.auth.signIn} onSubmit={enter}>
        {(errors) => (
          <>
            <EmailField
              ref={knownEmail === '' ? focusField : undefined}
              value={email}
              onChange={(event) => setEmail(event.target.value)}
              error={errors.email}
            />
            <PasswordField ref={knownEmail === '' ? undefined : focusField} error={errors.password} />
            <Link
              to="/forgot-password"
              state={{ email: email || undefined }}
              className={`${authLink} -mt-1.5 justify-self-start text-[0.8125rem]`}
            >
              {text.auth.forgotLink}
            </Link>
          </>
        )}
      </AuthForm>
    </SignInLayout>
  )
}
