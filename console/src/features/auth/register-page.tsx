import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { Notice } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import { AuthLayout, authLink } from './auth-layout.tsx'
import { EmailField } from './email-field.tsx'
import { PasswordField } from './password-field.tsx'
import { useLeadOn, useRegister } from './queries.ts'
import { toReturnPath } from './return-path.ts'
import { SsoButtons } from './sso-buttons.tsx'

/** Where an account and its organization begin. */
export function RegisterPage() {
  const { return_to } = useSearch({ from: '/register' })
  const { error, ...register } = useRegister()
  useLeadOn(return_to)
  const [email, setEmail] = useState('')
  const errors = fieldErrors(error)
  const emailTaken = error instanceof ApiError && error.code === 'email_taken'
  const signInLink = (words: string) => (
    <Link to="/sign-in" search={{ return_to }} state={{ email: email || undefined }} className={authLink}>
      {words}
    </Link>
  )
  return (
    <AuthLayout
      title={text.auth.registerTitle}
      footer={
        <span>
          {text.auth.haveAccount} {signInLink(text.auth.signIn)}
        </span>
      }
    >
      <Form<'name' | 'email' | 'password' | 'organization'>
        wide
        submitLabel={text.auth.register}
        busy={register.isPending || register.isSuccess}
        error={error}
        {...(emailTaken && {
          remedy: (
            <div role="alert">
              <Notice tone="bad" action={signInLink(text.auth.signInInstead)}>
                {error.message}
              </Notice>
            </div>
          ),
        })}
        onSubmit={(registration) => register.mutate(registration)}
      >
        <TextField
          label={text.auth.name}
          name="name"
          autoComplete="name"
          required
          maxLength={255}
          error={errors.name}
        />
        <EmailField value={email} onChange={(event) => setEmail(event.target.value)} error={errors.email} />
        <PasswordField isNew label={text.auth.password} error={errors.password} />
        <TextField
          label={text.auth.organization}
          hint={text.auth.organizationHint}
          name="organization"
          autoComplete="organization"
          required
          maxLength={255}
          error={errors.organization}
        />
      </Form>
      <SsoButtons returnPath={toReturnPath(return_to)} />
    </AuthLayout>
  )
}
