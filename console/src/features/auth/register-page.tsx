import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { focusField } from '../../components/field.tsx'
import { Notice } from '../../components/states.tsx'
import { installationQuery } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { EmailField, NameField, OrganizationField } from './account-fields.tsx'
import { AuthForm } from './auth-form.tsx'
import { authLink, SignInLayout } from './auth-layout.tsx'
import { PasswordField } from '../../domain/session/password-field.tsx'
import { useRegister } from './queries.ts'

/** Creates an account and its organization. */
export function RegisterPage() {
  const { return_to } = useSearch({ from: '/register' })
  const register = useRegister()
  const [email, setEmail] = useState('')
  const { error } = register
  const { data: installation } = useQuery(installationQuery)
  const emailTaken = error instanceof ApiError && error.code === 'email_taken'
  const signInLink = (label: string) => (
    <Link to="/sign-in" search={{ return_to }} state={{ email: email || undefined }} className={authLink}>
      {label}
    </Link>
  )
  return (
    <SignInLayout
      title={text.auth.registerTitle}
      returnTo={return_to}
      notice={
        installation &&
        installation.registration !== 'open' && (
          <Notice>{text.auth.registrationLimited(installation.registration_domains)}</Notice>
        )
      }
      footer={
        <>
          {text.auth.haveAccount} {signInLink(text.auth.signIn)}
        </>
      }
    >
      {installation?.registration !== 'invited' && (
        <AuthForm<'name' | 'email' | 'password' | 'organization'>
          mutation={register}
          submitLabel={text.auth.register}
          remedy={
            emailTaken ? (
              <div role="alert">
                <Notice tone="bad" action={signInLink(text.auth.signInInstead)}>
                  {error.message}
                </Notice>
              </div>
            ) : undefined
          }
          onSubmit={(registration) => register.mutate(registration)}
        >
          {(errors) => (
            <>
              <NameField ref={focusField} error={errors.name} />
              <EmailField
                value={email}
                onChange={(event) => setEmail(event.target.value)}
                error={errors.email}
              />
              <PasswordField isNew label={text.passwords.password} error={errors.password} />
              <OrganizationField error={errors.organization} />
            </>
          )}
        </AuthForm>
      )}
    </SignInLayout>
  )
}
