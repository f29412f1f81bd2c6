import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { CredentialsInput } from '../../contract.ts'
import { focusField, TextField } from '../../components/field.tsx'
import { Notice } from '../../components/states.tsx'
import { installationQuery } from '../../domain/installation.ts'
import { CodeField } from '../../domain/second-factors/code-field.tsx'
import { supportsPasskeys } from '../../domain/second-factors/passkeys.ts'
import { text } from '../../text/index.ts'
import { EmailField } from './account-fields.tsx'
import { AuthForm } from './auth-form.tsx'
import { authLink, SignInLayout, AuthLayout } from './auth-layout.tsx'
import { PasswordField } from '../../domain/session/password-field.tsx'
import { useSignIn, useLeaveWithSession } from './queries.ts'
import { readFactorDemand, useSignInWithPasskey } from './second-step-queries.ts'
import type { FactorDemand } from './second-step-queries.ts'

const methods = ['passkey', 'totp', 'recovery_code'] as const

export function SignInPage() {
  const { return_to, error: ssoError } = useSearch({ from: '/sign-in' })
  const {
    email: knownEmail = '',
    passwordSet,
    sessionEnded,
    accountDeleted,
    signedOutHere,
  } = useLocation({ select: ({ state }) => state })
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
  const registerLink = (label: string, isFirst = false) => (
    <Link to="/register" search={{ return_to }} className={authLink} ref={isFirst ? focusField : undefined}>
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
            <Notice action={registerLink(text.auth.createFirstAccount, true)}>{text.auth.noAccounts}</Notice>
          )}
          {sessionEnded && <Notice tone="warn">{text.auth.sessionEnded}</Notice>}
          {passwordSet && <Notice tone="good">{text.auth.passwordSet}</Notice>}
          {signedOutHere && <Notice>{text.auth.signedOutHere}</Notice>}
          {accountDeleted && <Notice tone="good">{text.auth.accountDeleted}</Notice>}
          {ssoError && <Notice tone="bad">{text.auth.ssoFailure(ssoError)}</Notice>}
        </>
      }
    >
      <AuthForm<'email' | 'password'> mutation={signIn} submitLabel={text.auth.signIn} onSubmit={enter}>
        {(errors) => (
          <>
            <EmailField
              ref={knownEmail === '' && !isEmpty ? focusField : undefined}
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

type Method = (typeof methods)[number]

/** The second step of a sign-in: a passkey, a code of the authenticator app, or a recovery code. */
function SecondStep({
  demand,
  returnTo,
  onBack,
}: {
  demand: FactorDemand
  returnTo: string | undefined
  onBack: () => void
}) {
  useLeaveWithSession(returnTo)
  const usable = methods.filter(
    (method) => demand.methods.includes(method) && (method !== 'passkey' || supportsPasskeys()),
  )
  const [method, setMethod] = useState<Method>(usable[0] ?? 'recovery_code')
  const { title, description } = text.secondFactors.steps[method]
  return (
    <AuthLayout
      title={title}
      description={<p>{description}</p>}
      footer={
        <>
          {usable
            .filter((other) => other !== method)
            .map((other) => (
              <button key={other} type="button" className={authLink} onClick={() => setMethod(other)}>
                {text.secondFactors.steps[other].switch}
              </button>
            ))}
          <button type="button" className={authLink} onClick={onBack}>
            {text.secondFactors.otherAccount}
          </button>
        </>
      }
    >
      {/* The key discards the error and the entry of the other method. */}
      {method === 'passkey' ? (
        <PasskeyForm demand={demand} />
      ) : (
        <CodeForm key={method} demand={demand} isRecovery={method === 'recovery_code'} />
      )}
    </AuthLayout>
  )
}

function PasskeyForm({ demand }: { demand: FactorDemand }) {
  const signIn = useSignInWithPasskey(demand)
  return (
    <AuthForm
      mutation={signIn}
      submitLabel={text.secondFactors.steps.passkey.switch}
      onSubmit={() => signIn.mutate()}
    >
      {() => null}
    </AuthForm>
  )
}

function CodeForm({ demand, isRecovery }: { demand: FactorDemand; isRecovery: boolean }) {
  const signIn = useSignIn()
  return (
    <AuthForm<'code'>
      mutation={signIn}
      submitLabel={text.auth.signIn}
      onSubmit={({ code }) => signIn.mutate({ ...demand.credentials, code })}
    >
      {(errors) =>
        isRecovery ? (
          <TextField
            label={text.secondFactors.recoveryCode}
            hint={text.secondFactors.recoveryHint}
            name="code"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            ref={focusField}
            required
            maxLength={64}
            className="font-mono"
            error={errors.code}
          />
        ) : (
          <CodeField error={errors.code} />
        )
      }
    </AuthForm>
  )
}
