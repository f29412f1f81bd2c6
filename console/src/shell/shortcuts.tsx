import { Suspense } from 'react'
import { lazyPart } from '../routing/lazy-part.ts'
import { useKeyDialog } from './use-key-dialog.ts'

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
  const { isOpen, close } = useKeyDialog({ openEvent, matches: asksForShortcuts, toggles: false })
  if (!isOpen) return null
  return (
    <Suspense>
      <ShortcutsDialog onClose={close} />
    </Suspense>
  )
}

function asksForShortcuts({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  if (key !== '?' || ctrlKey || metaKey || altKey) return false
  return !isTyping(target) && document.querySelector('[role=dialog], [role=menu]') === null
}

/** Whether keys go to a field. A focused select jumps to an option by its first characters. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  )
}
