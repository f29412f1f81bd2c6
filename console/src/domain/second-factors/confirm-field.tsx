import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { fieldErrors } from '../../components/form.tsx'
import { text } from '../../text/index.ts'
import { PasswordField } from '../session/password-field.tsx'
import type { Confirmation } from './confirm-identity.ts'
import { supportsPasskeys } from './passkeys.ts'
import { secondFactorsQuery } from './queries.ts'

interface ConfirmFieldProps {
  error: unknown
  /** Reports each change, where no form reads the field. */
  onChange?: (confirmation: Confirmation) => void
}

/** Asks for the password, or for a passkey of an account that has one. `confirmIdentity` reads its values. */
export function ConfirmField({ error, onChange }: ConfirmFieldProps) {
  const [byPasskey, setByPasskey] = useState(false)
  const { data: factors } = useQuery(secondFactorsQuery)
  const change = () => {
    setByPasskey(!byPasskey)
    onChange?.(byPasskey ? { password: '' } : {})
  }
  return (
    <div className="grid justify-items-stretch gap-2">
      {byPasskey ? (
        <p className="text-muted">{text.secondFactors.steps.passkey.description}</p>
      ) : (
        <PasswordField
          error={fieldErrors(error).password}
          onChange={({ currentTarget }) => onChange?.({ password: currentTarget.value })}
        />
      )}
      {supportsPasskeys() && factors !== undefined && factors.passkeys.length > 0 && (
        <button
          type="button"
          className="justify-self-start rounded-sm text-accent underline-offset-4 hover:text-accent-strong hover:underline"
          onClick={change}
        >
          {byPasskey ? text.secondFactors.passwordInstead : text.secondFactors.passkeyInstead}
        </button>
      )}
    </div>
  )
}
