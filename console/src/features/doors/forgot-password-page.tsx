import { Link, useLocation } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { text } from '../../text/index.ts'
import { DoorLayout, doorLink } from './door-layout.tsx'
import { EmailField } from './email-field.tsx'
import { useRequestPasswordReset } from './queries.ts'

/** Where one asks for a link to set a new password. */
export function ForgotPasswordPage() {
  const email = useLocation({ select: ({ state }) => state.email })
  const request = useRequestPasswordReset()
  const footer = (
    <Link to="/sign-in" className={doorLink}>
      {text.doors.backToSignIn}
    </Link>
  )
  if (request.isSuccess) {
    return (
      <DoorLayout
        title={text.doors.linkSentTitle}
        description={<p role="status">{text.doors.linkSent(request.variables)}</p>}
        footer={footer}
      >
        <Button onClick={() => request.reset()}>{text.doors.otherAddress}</Button>
      </DoorLayout>
    )
  }
  return (
    <DoorLayout
      title={text.doors.forgotTitle}
      description={<p>{text.doors.forgotDescription}</p>}
      footer={footer}
    >
      <Form<'email'>
        wide
        submitLabel={text.doors.sendLink}
        busy={request.isPending}
        error={request.error}
        onSubmit={(values) => request.mutate(values.email)}
      >
        <EmailField defaultValue={email} error={fieldErrors(request.error).email} />
      </Form>
    </DoorLayout>
  )
}
