import { useState } from 'react'
import { text } from '../../text/index.ts'
import { PasskeySetup } from './passkey-setup.tsx'
import { supportsPasskeys } from './passkeys.ts'
import { useReloadFactors } from './queries.ts'
import { RecoveryCodesView } from './recovery-codes.tsx'
import { TotpSetup } from './totp-setup.tsx'

/** Sets up a first second factor. After the recovery codes, reloads all that depends on it. */
export function FactorSetup() {
  const [byPasskey, setByPasskey] = useState(false)
  const [codes, setCodes] = useState<string[] | null>(null)
  const reload = useReloadFactors()
  const onAdded = (added: string[] | null) => {
    setCodes(added)
    if (added === null) void reload()
  }
  if (codes) return <RecoveryCodesView codes={codes} onDone={() => void reload()} />
  const alternative = supportsPasskeys() && (
    <button
      type="button"
      className="justify-self-start rounded-sm font-medium text-accent underline-offset-4 hover:text-accent-strong hover:underline"
      onClick={() => setByPasskey(!byPasskey)}
    >
      {byPasskey ? text.secondFactors.appInstead : text.secondFactors.passkeyInstead}
    </button>
  )
  return byPasskey ? (
    <PasskeySetup onAdded={onAdded} alternative={alternative} />
  ) : (
    <TotpSetup onAdded={onAdded} alternative={alternative} />
  )
}
