import { Suspense, useEffect, useState } from 'react'
import { lazyPart } from '../routing/lazy-part.ts'

const openEvent = 'berth:open-shortcuts'

const ShortcutsDialog = lazyPart(() =>
  import('./shortcuts-dialog.tsx').then((module) => module.ShortcutsDialog),
)

/** Opens the list of keyboard shortcuts. */
export function openShortcuts() {
  window.dispatchEvent(new Event(openEvent))
}

/** Shows the list of keyboard shortcuts on `?`, unless a person types it, or on openShortcuts. */
export function Shortcuts() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const show = () => setOpen(true)
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== '?' || event.ctrlKey || event.metaKey || event.altKey) return
      if (isTyping(event.target) || document.querySelector('[role=dialog], [role=menu]')) return
      event.preventDefault()
      show()
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
      <ShortcutsDialog onClose={() => setOpen(false)} />
    </Suspense>
  )
}

/** Whether keys go to a field. A focused select jumps to an option by its first characters. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  )
}
