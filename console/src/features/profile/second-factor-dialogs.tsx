import { Dialog } from '../../components/dialog.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useRemoveFactor, useRotateRecoveryCodes } from '../../domain/second-factors/queries.ts'
import { PasswordField } from '../../domain/session/password-field.tsx'
import { text } from '../../text/index.ts'

/** Removes the authenticator app, or the passkey with an id, after the password. */
export function RemoveFactorDialog({
  factor,
  title,
  onClose,
}: {
  factor: 'totp' | number
  title: string
  onClose: () => void
}) {
  const removal = useRemoveFactor(factor)
  const toasts = useToasts()
  const onSuccess = () => {
    onClose()
    toasts.success(text.secondFactors.removed)
  }
  return (
    <Dialog open onOpenChange={onClose} title={title} description={text.secondFactors.removeDescription}>
      <Form<'password'>
        submitLabel={text.secondFactors.remove}
        busy={removal.isPending}
        error={removal.error}
        onSubmit={({ password }) => removal.mutate({ password }, { onSuccess })}
      >
        <PasswordField error={fieldErrors(removal.error).password} />
      </Form>
    </Dialog>
  )
}

/** Replaces the recovery codes after the password. */
export function RotateCodesDialog({
  onClose,
  onRotated,
}: {
  onClose: () => void
  onRotated: (codes: string[] | null) => void
}) {
  const renewal = useRotateRecoveryCodes(onRotated)
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={text.secondFactors.renewTitle}
      description={text.secondFactors.renewDescription}
    >
      <Form<'password'>
        submitLabel={text.secondFactors.rotate}
        busy={renewal.isPending}
        error={renewal.error}
        onSubmit={({ password }) => renewal.mutate({ password })}
      >
        <PasswordField error={fieldErrors(renewal.error).password} />
      </Form>
    </Dialog>
  )
}
