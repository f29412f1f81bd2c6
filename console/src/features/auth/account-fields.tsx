import type { ComponentProps } from 'react'
import { TextField } from '../../components/field.tsx'
import { text } from '../../text/index.ts'

type FieldProps = Partial<ComponentProps<typeof TextField>>

export function EmailField(props: FieldProps) {
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

export function NameField(props: FieldProps) {
  return (
    <TextField label={text.auth.name} name="name" autoComplete="name" required maxLength={255} {...props} />
  )
}

export function OrganizationField(props: FieldProps) {
  return (
    <TextField
      label={text.auth.organization}
      hint={text.auth.organizationHint}
      name="organization"
      autoComplete="organization"
      required
      maxLength={255}
      {...props}
    />
  )
}
