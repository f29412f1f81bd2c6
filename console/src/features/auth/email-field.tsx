import type { ComponentProps } from 'react'
import { TextField } from '../../components/field.tsx'
import { text } from '../../text/index.ts'

/** The address of the account that one comes in with. */
export function EmailField(props: Partial<ComponentProps<typeof TextField>>) {
  return (
    <TextField
      label={text.auth.email}
      name="email"
      type="email"
      autoComplete="username"
      required
      {...props}
    />
  )
}
