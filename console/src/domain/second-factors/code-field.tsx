import type { ComponentProps } from 'react'
import { focusField, TextField } from '../../components/field.tsx'
import { text } from '../../text/index.ts'

/** The field for the code of an authenticator app, which password managers and phones fill in. */
export function CodeField(props: Partial<ComponentProps<typeof TextField>>) {
  return (
    <TextField
      label={text.secondFactors.code}
      hint={text.secondFactors.codeHint}
      name="code"
      autoComplete="one-time-code"
      inputMode="numeric"
      pattern="\s*\d{3}\s*\d{3}\s*"
      ref={focusField}
      required
      className="font-mono tracking-widest"
      {...props}
    />
  )
}
