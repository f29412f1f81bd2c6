import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { text } from '../../text/index.ts'
import { AuthForm } from './auth-form.tsx'
import { PasswordResetLayout } from './auth-layout.tsx'
import { PasswordField } from '../../domain/session/password-field.tsx'
import { useResetPassword } from './queries.ts'

/** Sets a new password through the link of a reset email. */
export function ResetPasswordPage() {
  const { token } = useSearch({ from: '/reset-password' })
  const reset = useResetPassword()
  const navigate = useNavigate()
  const refused = reset.error instanceof ApiError && reset.error.code === 'invalid_or_expired_token'
  if (refused || !token) {
    return (
      <PasswordResetLayout title={text.auth.badLinkTitle} message={text.auth.badLink} role="alert">
        <Button variant="primary" asChild>
          <Link to="/forgot-password">{text.auth.newLink}</Link>
        </Button>
      </PasswordResetLayout>
    )
  }
  // Replaces the history entry, because the link works only once.
  const openSignIn = () => void navigate({ to: '/sign-in', replace: true, state: { passwordSet: true } })
  return (
    <PasswordResetLayout title={text.auth.resetTitle} message={text.auth.resetDescription}>
      <AuthForm<'password'>
        mutation={reset}
        submitLabel={text.auth.setPassword}
        onSubmit={({ password }) => reset.mutate({ token, password }, { onSuccess: openSignIn })}
      >
        {(errors) => <PasswordField isNew error={errors.password} />}
      </AuthForm>
    </PasswordResetLayout>
  )
}
