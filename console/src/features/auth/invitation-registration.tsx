import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { text } from '../../text/index.ts'
import { useRegisterInvitee } from './invitation-queries.ts'
import { PasswordField } from './password-field.tsx'

/** The account of an invitee who has none; its address is the invitation's. */
export function InvitationRegistration({
  token,
  email,
  onJoined,
}: {
  token: string
  email: string
  onJoined: () => void
}) {
  const register = useRegisterInvitee(token, onJoined)
  const errors = fieldErrors(register.error)
  return (
    <Form<'first_name' | 'last_name' | 'password'>
      wide
      submitLabel={text.auth.acceptAndRegister}
      busy={register.isPending || register.isSuccess}
      error={register.error}
      onSubmit={({ password, first_name, last_name }) =>
        register.mutate({
          password,
          // A name that is left out is made from the address.
          first_name: first_name.trim() || undefined,
          last_name: last_name.trim() || undefined,
        })
      }
    >
      <p>{text.auth.registerToAccept}</p>
      {/* Password managers keep a new password with the address that stands before it. */}
      <input hidden autoComplete="username" value={email} readOnly />
      <div className="grid grid-cols-2 gap-3">
        <TextField
          label={text.auth.firstName}
          name="first_name"
          autoComplete="given-name"
          maxLength={255}
          error={errors.first_name}
        />
        <TextField
          label={text.auth.lastName}
          name="last_name"
          autoComplete="family-name"
          maxLength={255}
          error={errors.last_name}
        />
      </div>
      <PasswordField isNew label={text.auth.password} error={errors.password} />
    </Form>
  )
}
