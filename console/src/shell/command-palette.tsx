import { Suspense } from 'react'
import type { ComponentType } from 'react'
import { useKeyDialog } from './use-key-dialog.ts'

const openEvent = 'berth:open-commands'

export function openCommandPalette() {
  window.dispatchEvent(new Event(openEvent))
}

const isPaletteKey = ({ key, metaKey, ctrlKey }: KeyboardEvent) =>
  key.toLowerCase() === 'k' && (metaKey || ctrlKey)

/** Shows `dialog` on Ctrl+K, ⌘K or openCommandPalette. */
export function CommandPalette({ dialog: Dialog }: { dialog: ComponentType<{ onClose: () => void }> }) {
  const { isOpen, close } = useKeyDialog({ openEvent, matches: isPaletteKey, toggles: true })
  if (!isOpen) return null
  return (
    <Suspense>
      <Dialog onClose={close} />
    </Suspense>
  )
}
