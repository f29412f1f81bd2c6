import { Dialog } from 'radix-ui'
import type { RefObject } from 'react'
import { text } from '../text/index.ts'
import { Sidebar } from './sidebar.tsx'

interface DrawerProps {
  /** Gets the focus when the drawer closes. */
  button: RefObject<HTMLButtonElement | null>
  onClose: () => void
}

/** The sidebar of a small screen, over the page. */
export function Drawer({ button, onClose }: DrawerProps) {
  return (
    <Dialog.Root open onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Dialog.Content
          aria-describedby={undefined}
          onCloseAutoFocus={(event) => {
            event.preventDefault()
            button.current?.focus()
          }}
          className="fixed inset-y-0 left-0 z-50 w-64 max-w-[85vw] border-r bg-surface shadow-xl focus:outline-none"
        >
          <Dialog.Title className="sr-only">{text.shell.navigation}</Dialog.Title>
          <Sidebar onNavigate={onClose} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
