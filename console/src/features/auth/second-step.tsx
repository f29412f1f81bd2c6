import { useState } from 'react'
import type { Credentials } from '../../../../server/src/contract.ts'
import { TextField } from '../../components/field.tsx'
import { CodeField, focusField } from '../../domain/second-factors/code-field.tsx'
import { text } from '../../text/index.ts'
import { AuthForm } from './auth-form.tsx'
import { AuthLayout, authLink } from './auth-layout.tsx'
import { useLeaveWithSession, useSignIn } from './queries.ts'

/** The second step of a sign-in: a code of the authenticator app, or a recovery code. */
export function SecondStep({
  credentials,
  returnTo,
  onBack,
}: {
  credentials: Credentials
  returnTo: string | undefined
  onBack: () => void
}) {
  useLeaveWithSession(returnTo)
  const [recovering, setRecovering] = useState(false)
  const signIn = useSignIn()
  const change = () => {
    signIn.reset()
    setRecovering(!recovering)
  }
  return (
    <AuthLayout
      title={text.secondFactors.stepTitle}
      {...(!recovering && { description: <p>{text.secondFactors.stepDescription}</p> })}
      footer={
        <>
          <button type="button" className={authLink} onClick={change}>
            {recovering ? text.secondFactors.switchToApp : text.secondFactors.switchToRecoveryCode}
          </button>
          <button type="button" className={authLink} onClick={onBack}>
            {text.secondFactors.otherAccount}
          </button>
        </>
      }
    >
      <AuthForm<'code'>
        // A new key empties the field.
        key={String(recovering)}
        mutation={signIn}
        submitLabel={text.auth.signIn}
        onSubmit={({ code }) => signIn.mutate({ ...credentials, code })}
      >
        {(errors) =>
          recovering ? (
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
    </AuthLayout>
  )
}
