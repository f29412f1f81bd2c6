import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { text } from '../../text/index.ts'
import { PasswordField } from '../session/password-field.tsx'
import { useAddPasskey, useReloadFactors } from './queries.ts'
import { RecoveryCodesView } from './recovery-codes.tsx'
import type { SetupProps } from './totp-setup.tsx'

/** Adds a passkey: its name, the password, the browser's dialog, and the recovery codes. */
export function PasskeySetup({ onDone, alternative }: SetupProps) {
  const add = useAddPasskey()
  const reload = useReloadFactors()
  const finish = () => {
    void reload()
    onDone()
  }
  if (add.data?.recovery_codes) return <RecoveryCodesView codes={add.data.recovery_codes} onDone={finish} />
  const errors = fieldErrors(add.error)
  return (
    <div className="grid gap-4">
      <Form<'name' | 'password'>
        submitLabel={text.secondFactors.next}
        busy={add.isPending}
        error={add.error}
        onSubmit={(values) =>
          add.mutate(values, { onSuccess: (added) => added.recovery_codes === null && finish() })
        }
      >
        <TextField
          label={text.secondFactors.passkeyName}
          hint={text.secondFactors.passkeyNameHint}
          name="name"
          required
          maxLength={100}
          error={errors.name}
        />
        <PasswordField error={errors.password} />
      </Form>
      {alternative}
    </div>
  )
}
