import { useEffect, useRef, useState } from 'react'

/**
 * What is being typed into a search whose words are kept in the address: `write` is called once the typing rests, and the draft
 * follows the address when that changes by itself, by the back button say.
 */
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
