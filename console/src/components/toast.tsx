import { X } from 'lucide-react'
import { Toast } from 'radix-ui'
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from 'react'
import { classNames } from '../class-names.ts'
import { text } from '../text/index.ts'
import { describeError } from './states.tsx'

interface Message {
  id: number
  tone: 'good' | 'bad'
  message: string
}

interface Toasts {
  /** Shows a success message. */
  success: (message: string) => void
  /** Shows the message of an error. */
  error: (error: unknown) => void
}

const ToastsContext = createContext<Toasts | null>(null)

/** Shows short messages in a corner for six seconds and announces them to screen readers. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([])
  const add = useCallback((tone: Message['tone'], message: string) => {
    setMessages((known) => [...known.slice(-2), { id: Date.now() + Math.random(), tone, message }])
  }, [])
  const toasts = useMemo<Toasts>(
    () => ({
      success: (message) => add('good', message),
      error: (error) => add('bad', describeError(error)),
    }),
    [add],
  )
  return (
    <ToastsContext value={toasts}>
      <Toast.Provider duration={6_000} label={text.common.notification}>
        {children}
        {messages.map(({ id, tone, message }) => (
          <Toast.Root
            key={id}
            onOpenChange={(open) =>
              !open && setMessages((known) => known.filter((message) => message.id !== id))
            }
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
            <Toast.Close aria-label={text.common.close} className="rounded p-0.5 text-muted hover:text-ink">
              <X className="size-4" aria-hidden />
            </Toast.Close>
          </Toast.Root>
        ))}
        <Toast.Viewport className="fixed right-4 bottom-4 z-50 grid w-[calc(100vw-2rem)] max-w-sm gap-2" />
      </Toast.Provider>
    </ToastsContext>
  )
}

/** Returns the functions that show a toast. */
export function useToasts(): Toasts {
  const toasts = use(ToastsContext)
  if (!toasts) throw new Error('useToasts requires a ToastProvider.')
  return toasts
}
