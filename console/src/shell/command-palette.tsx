import { Suspense, useEffect, useState } from 'react'
import { lazyPart } from '../routing/lazy-part.ts'

const opening = 'berth:open-commands'

/** Opens the command palette from anywhere. */
export function openCommandPalette() {
  window.dispatchEvent(new Event(opening))
}

// Most visits never need it: it is loaded when it is first opened.
const CommandDialog = lazyPart(() => import('./command-dialog.tsx').then((module) => module.CommandDialog))

/** Listens for Ctrl+K or ⌘K. */
export function CommandPalette() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const show = () => setOpen(true)
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setOpen((shown) => !shown)
    }
    window.addEventListener(opening, show)
    window.addEventListener('keydown', onKeyDown)
    return () => {
      window.removeEventListener(opening, show)
      window.removeEventListener('keydown', onKeyDown)
    }
  }, [])
  if (!open) return null
  return (
    <Suspense>
      <CommandDialog onClose={() => setOpen(false)} />
    </Suspense>
  )
}
