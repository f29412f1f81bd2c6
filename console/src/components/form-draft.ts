import { useQueryClient } from '@tanstack/react-query'
import { useLayoutEffect } from 'react'
import type { RefObject } from 'react'
import { sessionQuery } from '../api/session.ts'

/** What people had typed when their session ended, in memory, by person, page and fields. */
const drafts = new Map<string, Record<string, string>>()

/** Keeps a form's entries when the session ends, for the same person's return to the page. */
export function useFormDraft(ref: RefObject<HTMLFormElement | null>) {
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

const isRadio = (field: Field): field is HTMLInputElement => field.type === 'radio'

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
