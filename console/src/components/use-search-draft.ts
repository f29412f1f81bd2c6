import { useEffect, useRef, useState } from 'react'

/** The text of a search field in the URL. Calls `write` when typing pauses; follows other URL changes. */
export function useSearchDraft(value: string, write: (value: string) => void) {
  const [draft, setDraft] = useState(value)
  const lastWritten = useRef(value)
  const writeNow = useRef(write)

  useEffect(() => {
    writeNow.current = write
  })
  useEffect(() => {
    if (value !== lastWritten.current) setDraft(value)
    lastWritten.current = value
  }, [value])
  useEffect(() => {
    if (draft === lastWritten.current) return
    const timer = setTimeout(() => {
      lastWritten.current = draft
      writeNow.current(draft)
    }, 250)
    return () => clearTimeout(timer)
  }, [draft])
  return [draft, setDraft] as const
}
