import { Suspense, useState } from 'react'
import type { ReactNode } from 'react'
import { lazyPart } from '../routing/lazy-part.ts'
import { text } from '../text/index.ts'
import { Button } from './button.tsx'
import { ErrorMessage } from './states.tsx'

const DialogContent = lazyPart(() => import('./dialog-content.tsx').then((module) => module.DialogContent))

/** Loads the code of dialogs ahead. */
export const loadDialogs = DialogContent.load

export interface DialogProps {
  /** True unless given */
  open?: boolean
  onClose: () => void
  title: ReactNode
  description?: ReactNode
  children: ReactNode
  /** The buttons of the footer, with the primary one last; those of a form are added. */
  actions?: ReactNode
  wide?: boolean
  /** Whether only a button of the content closes it, because what it shows can't be opened again. */
  locked?: boolean
}

/**
 * A modal dialog that traps the focus and closes on Escape unless locked. With changed fields, it asks first.
 * It focuses its first field when it opens. When it closes, it focuses its opener, or the main content if the
 * page has lost the opener. Most of its code is not part of the first view.
 */
export function Dialog({ open = true, ...props }: DialogProps) {
  // A closed dialog stays, because it returns the focus.
  const [wasOpen, setWasOpen] = useState(open)
  if (open && !wasOpen) setWasOpen(true)
  if (!wasOpen) return null
  return (
    <Suspense>
      <DialogContent open={open} {...props} />
    </Suspense>
  )
}

interface ConfirmDialogProps extends Omit<DialogProps, 'actions' | 'wide' | 'children'> {
  children?: ReactNode
  confirmLabel: string
  onConfirm: () => void
  busy?: boolean
  /** Why the last attempt failed */
  error?: unknown
  /** Whether the confirm button is disabled, because a choice is missing. */
  disabled?: boolean
  /** Styles the confirm button as destructive. */
  dangerous?: boolean
}

/** Asks for confirmation of an action that can't be undone. */
export function ConfirmDialog({
  confirmLabel,
  onConfirm,
  busy = false,
  error,
  disabled = false,
  dangerous,
  children,
  ...dialog
}: ConfirmDialogProps) {
  return (
    <Dialog
      {...dialog}
      actions={
        <>
          <Button onClick={dialog.onClose}>{text.common.cancel}</Button>
          <Button
            variant={dangerous ? 'danger' : 'primary'}
            busy={busy}
            disabled={disabled}
            onClick={onConfirm}
          >
            {confirmLabel}
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        {children}
        <ErrorMessage error={error} />
      </div>
    </Dialog>
  )
}
