import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { Notice } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import { DoorLayout, doorLink } from './door-layout.tsx'
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
    <Link to="/sign-in" search={{ return_to }} state={{ email: email || undefined }} className={doorLink}>
      {words}
    </Link>
  )
  return (
    <DoorLayout
      title={text.doors.registerTitle}
      footer={
        <span>
          {text.doors.haveAccount} {signInLink(text.doors.signIn)}
        </span>
      }
    >
      <Form<'name' | 'email' | 'password' | 'organization'>
        wide
        submitLabel={text.doors.register}
        busy={register.isPending || register.isSuccess}
        error={error}
        {...(emailTaken && {
          remedy: (
            <div role="alert">
              <Notice tone="bad" action={signInLink(text.doors.signInInstead)}>
                {error.message}
              </Notice>
            </div>
          ),
        })}
        onSubmit={(registration) => register.mutate(registration)}
      >
        <TextField
          label={text.doors.name}
          name="name"
          autoComplete="name"
          required
          maxLength={255}
          error={errors.name}
        />
        <EmailField value={email} onChange={(event) => setEmail(event.target.value)} error={errors.email} />
        <PasswordField isNew label={text.doors.password} error={errors.password} />
        <TextField
          label={text.doors.organization}
          hint={text.doors.organizationHint}
          name="organization"
          autoComplete="organization"
          required
          maxLength={255}
          error={errors.organization}
        />
      </Form>
      <SsoButtons returnPath={toReturnPath(return_to)} />
    </DoorLayout>
  )
}
