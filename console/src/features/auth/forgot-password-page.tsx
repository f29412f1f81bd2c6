import { useLocation } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { useMailIsFile } from '../../domain/installation.ts'
import { useRequestPasswordReset } from '../../domain/session/sign-in-methods.ts'
import { text } from '../../text/index.ts'
import { EmailField } from './account-fields.tsx'
import { AuthForm } from './auth-form.tsx'
import { PasswordResetLayout } from './auth-layout.tsx'

/** Requests a password reset email. */
export function ForgotPasswordPage() {
  const email = useLocation({ select: ({ state }) => state.email })
  const request = useRequestPasswordReset()
  const isFile = useMailIsFile()
  if (request.isSuccess) {
    return (
      <PasswordResetLayout
        title={isFile ? text.auth.linkWrittenTitle : text.auth.linkSentTitle}
        message={(isFile ? text.auth.linkWritten : text.auth.linkSent)(request.variables)}
        role="status"
      >
        <Button onClick={() => request.reset()}>{text.auth.otherAddress}</Button>
      </PasswordResetLayout>
    )
  }
  return (
    <PasswordResetLayout
      title={text.auth.forgotTitle}
      message={isFile ? text.auth.forgotDescriptionFile : text.auth.forgotDescription}
    >
      <AuthForm<'email'>
        mutation={request}
        submitLabel={text.auth.sendLink}
        onSubmit={(values) => request.mutate(values.email)}
      >
        {(errors) => <EmailField defaultValue={email} error={errors.email} />}
      </AuthForm>
    </PasswordResetLayout>
  )
}
