import { X } from 'lucide-react'
import { Dialog as Primitive } from 'radix-ui'
import { Suspense, useCallback, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { classNames } from '../class-names.ts'
import { lazyPart } from '../routing/lazy-part.ts'
import { text } from '../text/index.ts'
import { Button } from './button.tsx'
import type { DialogProps } from './dialog.tsx'
import { RenderSubmit } from './form.tsx'

const DiscardQuestion = lazyPart(() =>
  import('./discard-question.tsx').then((module) => module.DiscardQuestion),
)

const fieldSelector = 'input:enabled:not([type=hidden]), select:enabled, textarea:enabled'

/** The first field; of radio buttons, the chosen one. */
function findFirstField(content: HTMLElement): HTMLElement | null {
  const first = content.querySelector<HTMLElement>(fieldSelector)
  const isChoice = first instanceof HTMLInputElement && first.type === 'radio'
  return (isChoice ? content.querySelector<HTMLElement>('input[type=radio]:checked') : null) ?? first
}

/** The code of dialogs that no page needs before one opens. */
export function DialogContent({
  open = true,
  onClose,
  title,
  description,
  children,
  actions,
  wide,
  locked,
}: DialogProps) {
  const opener = useRef<Element>(null)
  const [footer, setFooter] = useState<HTMLElement | null>(null)
  const edited = useRef<Element>(null)
  const [hasChanges, setHasChanges] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const renderSubmit = useCallback(
    (form: string, label: string, busy: boolean) =>
      footer &&
      createPortal(
        <>
          {!locked && <Button onClick={onClose}>{text.common.cancel}</Button>}
          <Button type="submit" form={form} variant="primary" busy={busy}>
            {label}
          </Button>
        </>,
        footer,
      ),
    [footer, locked, onClose],
  )
  const focusFirstField = (event: Event) => {
    opener.current = document.activeElement === document.body ? null : document.activeElement
    const content = event.currentTarget
    const field = content instanceof HTMLElement && findFirstField(content)
    if (!field) return
    event.preventDefault()
    field.focus()
  }
  const restoreFocus = (event: Event) => {
    // Radix restores the focus only to its own Trigger component.
    event.preventDefault()
    const target = opener.current?.isConnected ? opener.current : document.getElementById('content')
    if (target instanceof HTMLElement) target.focus()
  }
  const keepOpen = (event: Event) => locked && event.preventDefault()
  if (!open && hasChanges) {
    setHasChanges(false)
    setAsking(false)
  }
  const closeOrAsk = () => {
    if (!hasChanges) return onClose()
    if (isAsking) return keepEditing()
    edited.current = document.activeElement
    setAsking(true)
  }
  const keepEditing = () => {
    setAsking(false)
    if (edited.current instanceof HTMLElement) edited.current.focus()
  }
  return (
    <Primitive.Root open={open} onOpenChange={closeOrAsk}>
      <Primitive.Portal>
        <Primitive.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Primitive.Content
          {...(description ? {} : { 'aria-describedby': undefined })}
          onOpenAutoFocus={focusFirstField}
          onCloseAutoFocus={restoreFocus}
          onEscapeKeyDown={keepOpen}
          onInteractOutside={keepOpen}
          className={classNames(
            'fixed top-1/2 left-1/2 z-50 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2',
            'flex-col rounded-xl border bg-raised shadow-xl focus:outline-none',
            wide ? 'max-w-2xl' : 'max-w-md',
          )}
        >
          <header className="flex items-start gap-4 px-5 pt-5">
            <div className="grid flex-1 gap-1 wrap-anywhere">
              <Primitive.Title className="text-base font-semibold">{title}</Primitive.Title>
              {description && (
                <Primitive.Description className="text-muted">{description}</Primitive.Description>
              )}
            </div>
            {!locked && (
              <Primitive.Close asChild>
                <Button variant="quiet" size="tiny" aria-label={text.common.close}>
                  <X />
                </Button>
              </Primitive.Close>
            )}
          </header>
          <div className="overflow-y-auto px-5 py-4" onInput={() => setHasChanges(true)}>
            <RenderSubmit value={renderSubmit}>{children}</RenderSubmit>
          </div>
          {isAsking && (
            <Suspense>
              <DiscardQuestion onKeep={keepEditing} onDiscard={onClose} />
            </Suspense>
          )}
          <footer
            ref={setFooter}
            hidden={isAsking}
            className="flex flex-wrap justify-end gap-2 border-t px-5 py-3 empty:hidden"
          >
            {actions}
          </footer>
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
