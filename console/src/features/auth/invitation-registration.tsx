import { focusField, TextField } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import { AuthForm } from './auth-form.tsx'
import { useRegisterInvitee } from './invitation-queries.ts'
import { PasswordField } from '../../domain/session/password-field.tsx'

interface InvitationRegistrationProps {
  token: string
  /** The email address of the invitation, which becomes the address of the account. */
  email: string
  onJoined: () => void
}

/** Accepts an invitation by creating an account. */
export function InvitationRegistration({ token, email, onJoined }: InvitationRegistrationProps) {
  const register = useRegisterInvitee(token, onJoined)
  return (
    <AuthForm<'first_name' | 'last_name' | 'password'>
      mutation={register}
      submitLabel={text.auth.acceptAndRegister}
      onSubmit={({ password, first_name, last_name }) =>
        register.mutate({
          password,
          // Without names, the server derives one from the email address.
          first_name: first_name.trim() || undefined,
          last_name: last_name.trim() || undefined,
        })
      }
    >
      {(errors) => (
        <>
          <p>{text.auth.registerToAccept}</p>
          {/* Password managers save a new password with the username field before it. */}
          <input hidden autoComplete="username" value={email} readOnly />
          <div className="grid grid-cols-2 gap-3">
            <TextField
              ref={focusField}
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
          <PasswordField isNew label={text.passwords.password} error={errors.password} />
        </>
      )}
    </AuthForm>
  )
}
