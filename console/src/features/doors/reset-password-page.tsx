import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { text } from '../../text/index.ts'
import { DoorLayout, doorLink } from './door-layout.tsx'
import { PasswordField } from './password-field.tsx'
import { useResetPassword } from './queries.ts'

/** Where the link of a reset mail leads. */
export function ResetPasswordPage() {
  const { token } = useSearch({ from: '/reset-password' })
  const reset = useResetPassword()
  const navigate = useNavigate()
  const footer = (
    <Link to="/sign-in" className={doorLink}>
      {text.doors.backToSignIn}
    </Link>
  )
  const refused = reset.error instanceof ApiError && reset.error.code === 'invalid_or_expired_token'
  if (refused || !token) {
    return (
      <DoorLayout
        title={text.doors.badLinkTitle}
        description={<p role="alert">{text.doors.badLink}</p>}
        footer={footer}
      >
        <Button look="primary" asChild>
          <Link to="/forgot-password">{text.doors.newLink}</Link>
        </Button>
      </DoorLayout>
    )
  }
  return (
    <DoorLayout
      title={text.doors.resetTitle}
      description={<p>{text.doors.resetDescription}</p>}
      footer={footer}
    >
      <Form<'password'>
        wide
        submitLabel={text.doors.setPassword}
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
    </DoorLayout>
  )
}
