import { createContext, Suspense, use, useCallback, useEffect, useMemo, useState } from 'react'
import type { ReactNode } from 'react'
import { lazyPart, loadWhenIdle } from '../routing/lazy-part.ts'
import { describeError } from './states.tsx'
import type { Message, MessageAction } from './toast-list.tsx'

interface Toasts {
  success: (message: string) => void
  /** Shows the message of an error. */
  error: (error: unknown) => void
  tell: (tone: Message['tone'], message: string, action?: MessageAction) => void
}

const ToastsContext = createContext<Toasts | null>(null)

const ToastList = lazyPart(() => import('./toast-list.tsx').then((module) => module.ToastList))

/** Shows short messages for useToasts. */
export function ToastProvider({ children }: { children: ReactNode }) {
  // Null until the first message, so that the list is not part of the first view.
  const [messages, setMessages] = useState<Message[] | null>(null)
  const tell = useCallback<Toasts['tell']>((tone, message, action) => {
    const id = Date.now() + Math.random()
    setMessages((known) => [...(known ?? []).slice(-2), { id, tone, message, action }])
  }, [])
  const toasts = useMemo<Toasts>(
    () => ({
      success: (message) => tell('good', message),
      error: (error) => tell('bad', describeError(error)),
      tell,
    }),
    [tell],
  )
  useEffect(() => loadWhenIdle(ToastList.load), [])
  return (
    <ToastsContext value={toasts}>
      {children}
      {messages && (
        <Suspense>
          <ToastList
            messages={messages}
            onClose={(closed) => setMessages((known) => (known ?? []).filter(({ id }) => id !== closed))}
          />
        </Suspense>
      )}
    </ToastsContext>
  )
}

export function useToasts(): Toasts {
  const toasts = use(ToastsContext)
  if (!toasts) throw new Error('useToasts requires a ToastProvider.')
  return toasts
}
