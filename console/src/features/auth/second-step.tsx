import { useState } from 'react'
import { focusField, TextField } from '../../components/field.tsx'
import { CodeField } from '../../domain/second-factors/code-field.tsx'
import { supportsPasskeys } from '../../domain/second-factors/passkeys.ts'
import { text } from '../../text/index.ts'
import { AuthForm } from './auth-form.tsx'
import { AuthLayout, authLink } from './auth-layout.tsx'
import { useLeaveWithSession, useSignIn } from './queries.ts'
import { useSignInWithPasskey } from './second-step-queries.ts'
import type { FactorDemand } from './second-step-queries.ts'

const methods = ['passkey', 'totp', 'recovery_code'] as const
type Method = (typeof methods)[number]

/** The second step of a sign-in: a passkey, a code of the authenticator app, or a recovery code. */
export function SecondStep({
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
