import { useQueryClient } from '@tanstack/react-query'
import { createContext, use, useEffect, useId, useRef, useState, useLayoutEffect } from 'react'
import type { ReactNode, RefObject } from 'react'
import { ApiError } from '../api/client.ts'
import { sessionQuery } from '../api/session.ts'
import { classNames } from '../class-names.ts'
import { Button } from './button.tsx'
import { ErrorMessage } from './states.tsx'

interface FormProps<Name extends string> {
  /** Receives the values by field name. */
  onSubmit: (values: Record<Name, string>) => void
  /** Of the button. Omit it when a button outside submits the form through its `id`. */
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

/** How a form renders its button, by the form's id; null for below the fields. */
export const RenderSubmit = createContext<((id: string, label: string, busy: boolean) => ReactNode) | null>(
  null,
)

/** What people had typed when their session ended, in memory, by person, page and fields. */
const drafts = new Map<string, Record<string, string>>()

const isRadio = (field: Field): field is HTMLInputElement => field.type === 'radio'

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
  const ownId = useId()
  const formId = id ?? ownId
  const renderSubmit = use(RenderSubmit)
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
      id={formId}
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
      {submitLabel &&
        (renderSubmit ? (
          renderSubmit(formId, submitLabel, busy)
        ) : (
          <Button
            type="submit"
            variant="primary"
            busy={busy}
            className={wide ? 'w-full' : 'justify-self-start'}
          >
            {submitLabel}
          </Button>
        ))}
    </form>
  )
}

/** Keeps a form's entries when the session ends, for the same person's return to the page. */
function useFormDraft(ref: RefObject<HTMLFormElement | null>) {
  const queryClient = useQueryClient()
  useLayoutEffect(() => {
    const form = ref.current
    const person = queryClient.getQueryData(sessionQuery.queryKey)?.user.id
    if (!form || person === undefined) return
    const names = listFields(form).map(({ name }) => name)
    const key = [person, window.location.pathname, ...new Set(names)].join(' ')
    // After this commit, so that React renders each entry before the next one.
    const timer = setTimeout(() => {
      const draft = drafts.get(key)
      drafts.delete(key)
      if (draft) fillIn(form, draft)
    })
    return () => {
      clearTimeout(timer)
      if (queryClient.getQueryData(sessionQuery.queryKey) !== null) return
      drafts.set(key, readEntries(form))
    }
  }, [queryClient, ref])
}

type Field = HTMLInputElement | HTMLTextAreaElement

/** The named fields, except passwords. */
function listFields(form: HTMLFormElement): Field[] {
  return [...form.querySelectorAll<Field>('input[name]:not([type=password]), textarea[name]')]
}

function readEntries(form: HTMLFormElement): Record<string, string> {
  const fields = listFields(form).filter((field) => !isRadio(field) || field.checked)
  return Object.fromEntries(fields.map(({ name, value }) => [name, value]))
}

function fillIn(form: HTMLFormElement, draft: Record<string, string>) {
  for (const field of listFields(form)) {
    const value = draft[field.name]
    if (value === undefined || (isRadio(field) ? value !== field.value : value === field.value)) continue
    if (isRadio(field)) {
      field.click()
      continue
    }
    // React replaces the setter on the element and ignores events without a change that it has noticed.
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')?.set?.call(field, value)
    field.dispatchEvent(new Event('input', { bubbles: true }))
  }
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
