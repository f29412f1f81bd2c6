import { X } from 'lucide-react'
import { Toast } from 'radix-ui'
import { classNames } from '../class-names.ts'
import { text } from '../text/index.ts'

/** What a person can do about a message. */
export interface MessageAction {
  label: string
  run: () => void
}

/** A message for a person. */
export interface Message {
  id: number
  tone: 'good' | 'bad'
  message: string
  action?: MessageAction | undefined
}

interface ToastListProps {
  messages: readonly Message[]
  onClose: (id: number) => void
}

/** Shows messages in a corner, each for six seconds, and announces them to screen readers. */
export function ToastList({ messages, onClose }: ToastListProps) {
  return (
    <Toast.Provider duration={6_000} label={text.common.notification}>
      {messages.map(({ id, tone, message, action }) => (
        <Toast.Root
          key={id}
          onOpenChange={(open) => !open && onClose(id)}
          className="flex items-start gap-3 rounded-lg border bg-raised px-4 py-3 shadow-lg"
        >
          <span
            aria-hidden
            className={classNames(
              'mt-1.5 size-2 shrink-0 rounded-full',
              tone === 'good' ? 'bg-good' : 'bg-bad',
            )}
          />
          <Toast.Description className="min-w-0 flex-1 wrap-anywhere">{message}</Toast.Description>
          {action && (
            <Toast.Action
              altText={action.label}
              onClick={action.run}
              className="rounded font-medium whitespace-nowrap text-accent hover:underline"
            >
              {action.label}
            </Toast.Action>
          )}
          <Toast.Close aria-label={text.common.close} className="rounded p-0.5 text-muted hover:text-ink">
            <X className="size-4" aria-hidden />
          </Toast.Close>
        </Toast.Root>
      ))}
      <Toast.Viewport className="fixed right-4 bottom-4 z-50 grid w-[calc(100vw-2rem)] max-w-sm gap-2" />
    </Toast.Provider>
  )
}
