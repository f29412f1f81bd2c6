import { Eye, EyeOff } from 'lucide-react'
import { useState, useRef } from 'react'
import type { ComponentProps } from 'react'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { text } from '../../text/index.ts'

/** A password that can be shown; `isNew` adds the password rule and warns about common passwords. */
export function PasswordField({
  isNew = false,
  ...props
}: Partial<ComponentProps<typeof TextField>> & { isNew?: boolean }) {
  const [shown, setShown] = useState(false)
  const { isCommon, check } = useCommonPassword()
  return (
    <TextField
      label={isNew ? text.passwords.newPassword : text.passwords.password}
      hint={
        isNew && (
          <span role="status" className={isCommon ? 'text-warn' : ''}>
            {isCommon ? text.passwords.commonPassword : text.passwords.passwordRule}
          </span>
        )
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
          aria-label={shown ? text.passwords.hidePassword : text.passwords.showPassword}
          onClick={() => setShown(!shown)}
        >
          {shown ? <EyeOff /> : <Eye />}
        </Button>
      }
      {...props}
    />
  )
}

/** Whether attackers try a password first. The list loads with the first long enough password. */
function useCommonPassword() {
  const [isCommon, setIsCommon] = useState(false)
  const latest = useRef('')

  async function check(password: string): Promise<void> {
    latest.current = password
    if (password.length < 8) return setIsCommon(false)
    const { commonPasswords } = await import('virtual:common-passwords')
    // A later keystroke has its own check.
    if (latest.current === password) setIsCommon(commonPasswords.has(password.toLowerCase()))
  }

  return { isCommon, check }
}
