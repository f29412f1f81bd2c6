import { Dialog } from '../../components/dialog.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { useToasts } from '../../components/toast.tsx'
import {
  useReloadFactors,
  useRemoveFactor,
  useRenewRecoveryCodes,
} from '../../domain/second-factors/queries.ts'
import { RecoveryCodesView } from '../../domain/second-factors/recovery-codes.tsx'
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

/** Replaces the recovery codes after the password, and shows the new ones. */
export function RenewCodesDialog({ onClose }: { onClose: () => void }) {
  const renewal = useRenewRecoveryCodes()
  const reload = useReloadFactors()
  const close = () => {
    if (renewal.isSuccess) void reload()
    onClose()
  }
  if (renewal.data) {
    return (
      <Dialog open onOpenChange={close} title={text.secondFactors.recoveryTitle}>
        <RecoveryCodesView codes={renewal.data.recovery_codes} onDone={close} />
      </Dialog>
    )
  }
  return (
    <Dialog
      open
      onOpenChange={close}
      title={text.secondFactors.renewTitle}
      description={text.secondFactors.renewDescription}
    >
      <Form<'password'>
        submitLabel={text.secondFactors.renew}
        busy={renewal.isPending}
        error={renewal.error}
        onSubmit={({ password }) => renewal.mutate({ password })}
      >
        <PasswordField error={fieldErrors(renewal.error).password} />
      </Form>
    </Dialog>
  )
}
