import { useEffect, useRef, useState, type ChangeEvent, type ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { classNames } from '../class-names.ts'
import { Button } from './button.tsx'
import { ErrorNote } from './states.tsx'

interface FormProps<Name extends string> {
  /** Gets the fields' values by their names. */
  onSubmit: (values: Record<Name, string>) => void
  /** Left out where a button elsewhere sends the form by its id. */
  submitLabel?: string
  id?: string
  busy?: boolean
  /** Of the last try; what it says about single fields is shown by them. */
  error: unknown
  /** Stands in place of the error's sentence, with what to do about it. */
  remedy?: ReactNode
  /** Makes the button as wide as the form. */
  wide?: boolean
  className?: string
  children: ReactNode
}

/** Fields and the button that sends them; after a refusal the first field that is wrong gets the focus. */
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
  const [sent, setSent] = useState<string[]>([])
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])
  const told = error instanceof ApiError ? Object.keys(error.fields) : []
  const toldByFields = told.length > 0 && told.every((name) => sent.includes(name))
  return (
    <form
      ref={form}
      id={id}
      className={classNames('grid gap-4', className)}
      onSubmit={(event) => {
        event.preventDefault()
        const values = Object.fromEntries(new FormData(event.currentTarget))
        setSent(Object.keys(values))
        onSubmit(values as Record<Name, string>)
      }}
    >
      {children}
      {remedy ?? (!toldByFields && <ErrorNote error={error} />)}
      {submitLabel && (
        <Button type="submit" look="primary" busy={busy} className={wide ? 'w-full' : 'justify-self-start'}>
          {submitLabel}
        </Button>
      )}
    </form>
  )
}

/** What an error says about each field of the form, by the field's name. */
export function fieldErrors(error: unknown): Record<string, string | undefined> {
  return error instanceof ApiError ? error.fields : {}
}

/** What a person typed over saved values: the saved ones may change beneath without a loss. */
export function useDraft<Name extends string>(saved: Record<Name, string | null>) {
  const [draft, setDraft] = useState<Partial<Record<Name, string>>>({})
  const typed = Object.entries(draft) as [Name, string][]
  return {
    /** What a text field of the form needs. */
    field: (name: Name) => ({
      name,
      value: draft[name] ?? saved[name] ?? '',
      onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
        setDraft((before) => ({ ...before, [name]: target.value })),
    }),
    /** The values that differ from the saved ones, empty where they were cleared. */
    changes: Object.fromEntries(
      typed.filter(([name, value]) => value.trim() !== (saved[name] ?? '')),
    ) as Partial<Record<Name, string>>,
    /** Shows the saved values again, except where something else was typed after this was handed out. */
    clear: () =>
      setDraft((before) => {
        const kept = (Object.entries(before) as [Name, string][]).filter(
          ([name, value]) => value !== draft[name],
        )
        return Object.fromEntries(kept) as Partial<Record<Name, string>>
      }),
  }
}
