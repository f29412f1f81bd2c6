import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { text } from '../../text/index.ts'
import { AuthLayout, authLink } from './auth-layout.tsx'
import { PasswordField } from './password-field.tsx'
import { useResetPassword } from './queries.ts'

/** Where the link of a reset mail leads. */
export function ResetPasswordPage() {
  const { token } = useSearch({ from: '/reset-password' })
  const reset = useResetPassword()
  const navigate = useNavigate()
  const footer = (
    <Link to="/sign-in" className={authLink}>
      {text.auth.backToSignIn}
    </Link>
  )
  const refused = reset.error instanceof ApiError && reset.error.code === 'invalid_or_expired_token'
  if (refused || !token) {
    return (
      <AuthLayout
        title={text.auth.badLinkTitle}
        description={<p role="alert">{text.auth.badLink}</p>}
        footer={footer}
      >
        <Button look="primary" asChild>
          <Link to="/forgot-password">{text.auth.newLink}</Link>
        </Button>
      </AuthLayout>
    )
  }
  return (
    <AuthLayout
      title={text.auth.resetTitle}
      description={<p>{text.auth.resetDescription}</p>}
      footer={footer}
    >
      <Form<'password'>
        wide
        submitLabel={text.auth.setPassword}
        busy={reset.isPending}
        error={reset.error}
        onSubmit={({ password }) =>
          reset.mutate(
            { token, password },
            // The link is used up: the back button shall not lead to it.
            {
              onSuccess: () => void navigate({ to: '/sign-in', replace: true, state: { passwordSet: true } }),
            },
          )
        }
      >
        <PasswordField isNew error={fieldErrors(reset.error).password} />
      </Form>
    </AuthLayout>
  )
}
