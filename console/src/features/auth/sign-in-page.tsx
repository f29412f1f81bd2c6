import { Link, useLocation, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { fieldErrors, Form } from '../../components/form.tsx'
import { Notice } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import { AuthLayout, authLink } from './auth-layout.tsx'
import { EmailField } from './email-field.tsx'
import { PasswordField } from './password-field.tsx'
import { useLeadOn, useSignIn } from './queries.ts'
import { toReturnPath } from './return-path.ts'
import { SsoButtons } from './sso-buttons.tsx'

/** Where one signs in, and where a session that ended leads. */
export function SignInPage() {
  const { return_to, error: ssoError } = useSearch({ from: '/sign-in' })
  const given = useLocation({ select: ({ state }) => state })
  const [email, setEmail] = useState(given.email ?? '')
  const signIn = useSignIn()
  useLeadOn(return_to)
  const errors = fieldErrors(signIn.error)
  return (
    <AuthLayout
      title={text.auth.signIn}
      footer={
        <span>
          {text.auth.noAccount}{' '}
          <Link to="/register" search={{ return_to }} className={authLink}>
            {text.auth.createAccount}
          </Link>
        </span>
      }
    >
      {given.passwordSet && <Notice tone="good">{text.auth.passwordSet}</Notice>}
      {ssoError && <Notice tone="bad">{text.auth.ssoFailure(ssoError)}</Notice>}
      <Form<'email' | 'password'>
        wide
        submitLabel={text.auth.signIn}
        busy={signIn.isPending || signIn.isSuccess}
        error={signIn.error}
        onSubmit={(credentials) => signIn.mutate(credentials)}
      >
        <EmailField value={email} onChange={(event) => setEmail(event.target.value)} error={errors.email} />
        <PasswordField error={errors.password} />
        <Link
          to="/forgot-password"
          state={{ email: email || undefined }}
          className={`${authLink} -mt-1.5 justify-self-start text-[0.8125rem]`}
        >
          {text.auth.forgotLink}
        </Link>
      </Form>
      <SsoButtons returnPath={toReturnPath(return_to)} />
    </AuthLayout>
  )
}
