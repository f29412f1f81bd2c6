import { Eye, EyeOff } from 'lucide-react'
import { useState } from 'react'
import type { ComponentProps } from 'react'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import { useCommonPassword } from './use-common-password.ts'

/** A password that can be shown; `isNew` adds the password rule and warns about common passwords. */
export function PasswordField({
  isNew = false,
  ...props
}: Partial<ComponentProps<typeof TextField>> & { isNew?: boolean }) {
  const [shown, setShown] = useState(false)
  const { isCommon, check } = useCommonPassword()
  return (
    <TextField
      label={isNew ? text.auth.newPassword : text.auth.password}
      hint={
        isNew && <span role="status">{isCommon ? text.auth.commonPassword : text.auth.passwordRule}</span>
      }
      name="password"
      type={shown ? 'text' : 'password'}
      autoComplete={isNew ? 'new-password' : 'current-password'}
      autoCapitalize="none"
      spellCheck={false}
      required
      onChange={isNew ? ({ currentTarget }) => void check(currentTarget.value) : undefined}
      trailing={
        <Button
          variant="quiet"
          size="tiny"
          aria-label={shown ? text.auth.hidePassword : text.auth.showPassword}
          onClick={() => setShown(!shown)}
        >
          {shown ? <EyeOff /> : <Eye />}
        </Button>
      }
      {...props}
    />
  )
}
