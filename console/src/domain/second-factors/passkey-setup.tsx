import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { text } from '../../text/index.ts'
import { EndingSessions } from '../session/ending-sessions.tsx'
import { ConfirmField } from './confirm-field.tsx'
import { useAddPasskey } from './queries.ts'
import type { SetupProps } from './totp-setup.tsx'

/** Adds a passkey: its name, the password, and the browser's dialog. */
export function PasskeySetup({ onAdded, alternative }: SetupProps) {
  const add = useAddPasskey(onAdded)
  const errors = fieldErrors(add.error)
  return (
    <div className="grid gap-4">
      <Form<'name' | 'password'>
        submitLabel={text.secondFactors.next}
        busy={add.isPending}
        error={add.error}
        onSubmit={(values) => add.mutate(values)}
      >
        <TextField
          label={text.secondFactors.passkeyName}
          hint={text.secondFactors.passkeyNameHint}
          name="name"
          required
          maxLength={100}
          error={errors.name}
        />
        <EndingSessions />
        <ConfirmField error={add.error} />
      </Form>
      {alternative}
    </div>
  )
}
