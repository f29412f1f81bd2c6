import { Link, useLocation } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { useRequestPasswordReset } from '../../domain/session/sign-in-methods.ts'
import { text } from '../../text/index.ts'
import { AuthLayout, authLink } from './auth-layout.tsx'
import { EmailField } from './email-field.tsx'

/** Where one asks for a link to set a new password. */
export function ForgotPasswordPage() {
  const email = useLocation({ select: ({ state }) => state.email })
  const request = useRequestPasswordReset()
  const footer = (
    <Link to="/sign-in" className={authLink}>
      {text.auth.backToSignIn}
    </Link>
  )
  if (request.isSuccess) {
    return (
      <AuthLayout
        title={text.auth.linkSentTitle}
        description={<p role="status">{text.auth.linkSent(request.variables)}</p>}
        footer={footer}
      >
        <Button onClick={() => request.reset()}>{text.auth.otherAddress}</Button>
      </AuthLayout>
    )
  }
  return (
    <AuthLayout
      title={text.auth.forgotTitle}
      description={<p>{text.auth.forgotDescription}</p>}
      footer={footer}
    >
      <Form<'email'>
        wide
        submitLabel={text.auth.sendLink}
        busy={request.isPending}
        error={request.error}
        onSubmit={(values) => request.mutate(values.email)}
      >
        <EmailField defaultValue={email} error={fieldErrors(request.error).email} />
      </Form>
    </AuthLayout>
  )
}
