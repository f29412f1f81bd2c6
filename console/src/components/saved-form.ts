import type { UseMutationResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangeEvent } from 'react'
import { text } from '../text/index.ts'
import { fieldErrors } from './form.tsx'
import { useToasts } from './toast.tsx'

type Values<Name extends string> = Partial<Record<Name, string>>

interface SavedForm<Name extends string, Required extends Name> {
  saved: Record<Name, string | null>
  /** The field that has a value always; other fields become null when they are cleared. */
  required: Required
  /** Saves the changed fields. */
  update: UseMutationResult<
    unknown,
    Error,
    NoInfer<Values<Required> & Partial<Record<Exclude<Name, Required>, string | null>>>
  >
}

/** A form over saved values that sends only changed fields. Edits survive when the saved values change. */
export function useSavedForm<Name extends string, Required extends Name>({
  saved,
  required,
  update,
}: SavedForm<Name, Required>) {
  const [draft, setDraft] = useState<Values<Name>>({})
  const toasts = useToasts()
  const errors = fieldErrors(update.error)
  const onSubmit = () => {
    const changes = listEntries(draft)
      .filter(([name, value]) => value.trim() !== (saved[name] ?? ''))
      .map(([name, value]) => [name, name !== required && value.trim() === '' ? null : value])
    update.mutate(Object.fromEntries(changes), {
      onSuccess: () => {
        // Keeps edits made while the form was saving.
        setDraft((before) => toValues(listEntries(before).filter(([name, value]) => value !== draft[name])))
        toasts.success(text.common.saved)
      },
    })
  }
  return {
    form: { submitLabel: text.common.save, busy: update.isPending, error: update.error, onSubmit },
    /** The props of a text field. */
    field: (name: Name) => ({
      name,
      value: draft[name] ?? saved[name] ?? '',
      error: errors[name],
      onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
        setDraft((before) => ({ ...before, [name]: target.value })),
    }),
  }
}

const listEntries = <Name extends string>(values: Values<Name>) => Object.entries(values) as [Name, string][]

const toValues = <Name extends string>(entries: [Name, string][]) =>
  Object.fromEntries(entries) as Values<Name>
