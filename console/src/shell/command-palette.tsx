import { Suspense, useEffect, useState } from 'react'
import type { ComponentType } from 'react'

const openEvent = 'berth:open-commands'

/** Opens the command palette. */
export function openCommandPalette() {
  window.dispatchEvent(new Event(openEvent))
}

/** Shows `dialog` on Ctrl+K, ⌘K or openCommandPalette. */
export function CommandPalette({ dialog: Dialog }: { dialog: ComponentType<{ onClose: () => void }> }) {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const show = () => setOpen(true)
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setOpen((shown) => !shown)
    }
    window.addEventListener(openEvent, show)
    window.addEventListener('keydown', onKeyDown)
    return () => {
      window.removeEventListener(openEvent, show)
      window.removeEventListener('keydown', onKeyDown)
    }
  }, [])
  if (!open) return null
  return (
    <Suspense>
      <Dialog onClose={() => setOpen(false)} />
    </Suspense>
  )
}
