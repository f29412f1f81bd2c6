import { useEffect, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { classNames } from '../class-names.ts'
import { Button } from './button.tsx'
import { useFormDraft } from './form-draft.ts'
import { ErrorMessage } from './states.tsx'

interface FormProps<Name extends string> {
  /** Receives the values by field name. */
  onSubmit: (values: Record<Name, string>) => void
  /** Omit it when a button outside submits the form through its `id`. */
  submitLabel?: string
  id?: string
  busy?: boolean
  /** The error of the last submission. The fields show its field messages, so the form doesn't. */
  error: unknown
  /** Replaces the error message, for example with a link that resolves the error. */
  remedy?: ReactNode
  /** Stretches the button to the width of the form. */
  wide?: boolean
  className?: string
  children: ReactNode
}

/** A form that focuses the first invalid field after an error. Entries survive the end of the session. */
export function Form<Name extends string>({
  onSubmit,
  submitLabel,
  id,
  busy = false,
  error,
  remedy,
  wide,
  className,
  children,
}: FormProps<Name>) {
  const form = useRef<HTMLFormElement>(null)
  useFormDraft(form)
  const [submittedNames, setSubmittedNames] = useState<string[]>([])
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])
  const fieldNames = error instanceof ApiError ? Object.keys(error.fields) : []
  const shownByFields =
    fieldNames.length > 0 && fieldNames.every((name) => submittedNames.some((own) => isPartOf(name, own)))
  return (
    <form
      ref={form}
      id={id}
      // The server's messages stand below the fields. Browser bubbles would be a second kind of message.
      noValidate
      className={classNames('grid gap-4', className)}
      onSubmit={(event) => {
        event.preventDefault()
        const values = Object.fromEntries(new FormData(event.currentTarget))
        setSubmittedNames(Object.keys(values))
        onSubmit(values as Record<Name, string>)
      }}
    >
      {children}
      {remedy ?? (!shownByFields && <ErrorMessage error={error} />)}
      {submitLabel && (
        <Button
          type="submit"
          variant="primary"
          busy={busy}
          className={wide ? 'w-full' : 'justify-self-start'}
        >
          {submitLabel}
        </Button>
      )}
    </form>
  )
}

/** The error message of each field, by field name. */
export function fieldErrors(error: unknown): Record<string, string | undefined> {
  return error instanceof ApiError ? error.fields : {}
}

/** The first error message of a field or of an item of its list. */
export function listError(error: unknown, own: string): string | undefined {
  return Object.entries(fieldErrors(error)).find(([name]) => isPartOf(name, own))?.[1]
}

function isPartOf(name: string, own: string): boolean {
  return name === own || name.startsWith(`${own}.`)
}
