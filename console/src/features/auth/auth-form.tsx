import type { ReactNode } from 'react'
import { fieldErrors, Form } from '../../components/form.tsx'

interface AuthFormProps<Name extends string> {
  /** The request that the form sends. The button stays busy after success, until the next page is shown. */
  mutation: { isPending: boolean; isSuccess: boolean; error: unknown }
  submitLabel: string
  onSubmit: (values: Record<Name, string>) => void
  /** Replaces the error message, for example with a link that resolves the error. */
  remedy?: ReactNode
  /** Renders the fields with the error of each field by name. */
  children: (errors: Record<string, string | undefined>) => ReactNode
}

export function AuthForm<Name extends string>({
  mutation: { isPending, isSuccess, error },
  children,
  ...form
}: AuthFormProps<Name>) {
  return (
    <Form<Name> wide busy={isPending || isSuccess} error={error} {...form}>
      {children(fieldErrors(error))}
    </Form>
  )
}
