import { useEffect, useState } from 'react'

/** A dialog that a key or an event opens on every page. */
interface KeyDialog {
  /** The event of the window that opens it */
  openEvent: string
  /** Whether a pressed key concerns the dialog. */
  matches: (event: KeyboardEvent) => boolean
  /** Whether the key also closes it; otherwise it only opens it */
  toggles: boolean
}

/** Whether a dialog is open, and how to close it. The description must not change between renders. */
export function useKeyDialog({ openEvent, matches, toggles }: KeyDialog) {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const show = () => setOpen(true)
    const onKeyDown = (event: KeyboardEvent) => {
      if (!matches(event)) return
      event.preventDefault()
      setOpen((shown) => !(shown && toggles))
    }
    window.addEventListener(openEvent, show)
    window.addEventListener('keydown', onKeyDown)
    return () => {
      window.removeEventListener(openEvent, show)
      window.removeEventListener('keydown', onKeyDown)
    }
  }, [openEvent, matches, toggles])
  return { isOpen, close: () => setOpen(false) }
}
