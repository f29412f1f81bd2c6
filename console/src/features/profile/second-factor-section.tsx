import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { useToasts } from '../../components/toast.tsx'
import type { SecondFactors } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Section } from '../../components/page.tsx'
import { ConfirmField } from '../../domain/second-factors/confirm-field.tsx'
import { PasskeySetup } from '../../domain/second-factors/passkey-setup.tsx'
import { supportsPasskeys } from '../../domain/second-factors/passkeys.ts'
import {
  secondFactorsQuery,
  useReloadFactors,
  useRemoveFactor,
  useRotateRecoveryCodes,
} from '../../domain/second-factors/queries.ts'
import { RecoveryCodesDialog } from '../../domain/second-factors/recovery-codes.tsx'
import { TotpSetup } from '../../domain/second-factors/totp-setup.tsx'
import { EndingSessions } from '../../domain/session/ending-sessions.tsx'
import { formatDay, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sections } from './sections.ts'

/** The authenticator app, passkeys and recovery codes of an account with a password. */
export function SecondFactorSection() {
  const query = useQuery(secondFactorsQuery)
  return (
    <Section
      id={sections.secondFactor}
      title={text.secondFactors.title}
      description={text.secondFactors.description}
    >
      <Loaded query={query} rows={1}>
        {(factors) => <Factors factors={factors} />}
      </Loaded>
    </Section>
  )
}

type Open =
  | 'app'
  | 'passkey'
  | 'rotate'
  | { factor: 'totp' | number; title: string }
  | { codes: string[] }
  | null

function Factors({ factors: { totp, passkeys, recovery_codes_left: left } }: { factors: SecondFactors }) {
  const [open, setOpen] = useState<Open>(null)
  const reload = useReloadFactors()
  const close = () => setOpen(null)
  const showCodes = (codes: string[] | null) => {
    void reload()
    setOpen(codes && { codes })
  }
  return (
    <div className="grid gap-4">
      {totp && (
        <Factor
          name={text.secondFactors.app}
          facts={text.secondFactors.used(formatDay(totp.created_at), formatRelative(totp.last_used_at))}
          removeLabel={text.secondFactors.removeApp}
          onRemove={() => setOpen({ factor: 'totp', title: text.secondFactors.removeTitle })}
        />
      )}
      {passkeys.map(({ id, name, created_at, last_used_at }) => (
        <Factor
          key={id}
          name={name}
          facts={text.secondFactors.passkeyAdded(
            formatDay(created_at),
            last_used_at && formatRelative(last_used_at),
          )}
          removeLabel={text.secondFactors.removePasskey(name)}
          onRemove={() => setOpen({ factor: id, title: text.secondFactors.removePasskeyTitle(name) })}
        />
      ))}
      {totp || passkeys.length > 0 ? (
        <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
          <p className={left < 3 ? 'text-warn' : 'text-muted'}>{text.secondFactors.codesLeft(left)}</p>
          <Button size="small" onClick={() => setOpen('rotate')}>
            {text.secondFactors.rotate}
          </Button>
        </div>
      ) : (
        <p className="text-muted">{text.secondFactors.none}</p>
      )}
      <div className="flex flex-wrap gap-3">
        {!totp && <Button onClick={() => setOpen('app')}>{text.secondFactors.setUp}</Button>}
        {supportsPasskeys() && (
          <Button onClick={() => setOpen('passkey')}>{text.secondFactors.addPasskey}</Button>
        )}
      </div>
      <Dialog open={open === 'app'} onClose={close} title={text.secondFactors.setUp}>
        <TotpSetup onAdded={showCodes} />
      </Dialog>
      <Dialog open={open === 'passkey'} onClose={close} title={text.secondFactors.addPasskey}>
        <PasskeySetup onAdded={showCodes} />
      </Dialog>
      {open === 'rotate' && <RotateCodesDialog onClose={close} onRotated={showCodes} />}
      {open !== null && typeof open === 'object' && 'factor' in open && (
        <RemoveFactorDialog {...open} onClose={close} />
      )}
      {open !== null && typeof open === 'object' && 'codes' in open && (
        <RecoveryCodesDialog codes={open.codes} onDone={close} />
      )}
    </div>
  )
}

/** Removes the authenticator app, or the passkey with an id, after a confirmation. */
function RemoveFactorDialog({
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
    <Dialog onClose={onClose} title={title} description={text.secondFactors.removeDescription}>
      <Form<'password'>
        submitLabel={text.secondFactors.remove}
        busy={removal.isPending}
        error={removal.error}
        onSubmit={(values) => removal.mutate(values, { onSuccess })}
      >
        <EndingSessions />
        <ConfirmField error={removal.error} />
      </Form>
    </Dialog>
  )
}

/** Replaces the recovery codes after a confirmation. */
function RotateCodesDialog({
  onClose,
  onRotated,
}: {
  onClose: () => void
  onRotated: (codes: string[] | null) => void
}) {
  const renewal = useRotateRecoveryCodes(onRotated)
  return (
    <Dialog
      onClose={onClose}
      title={text.secondFactors.renewTitle}
      description={text.secondFactors.renewDescription}
    >
      <Form<'password'>
        submitLabel={text.secondFactors.rotate}
        busy={renewal.isPending}
        error={renewal.error}
        onSubmit={(values) => renewal.mutate(values)}
      >
        <ConfirmField error={renewal.error} />
      </Form>
    </Dialog>
  )
}

function Factor({
  name,
  facts,
  removeLabel,
  onRemove,
}: {
  name: string
  facts: string
  removeLabel: string
  onRemove: () => void
}) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
      <div className="grid min-w-0 gap-0.5">
        <p className="font-medium break-words">{name}</p>
        <p className="text-[0.8125rem] text-muted">{facts}</p>
      </div>
      <Button size="small" aria-label={removeLabel} onClick={onRemove}>
        {text.secondFactors.remove}
      </Button>
    </div>
  )
}
