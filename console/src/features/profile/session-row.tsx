import type { ReactNode } from 'react'
import type { OwnSession } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { useEndSessions } from './queries.ts'

/** A session in a list, with a button to end it unless it is the current one. */
export function SessionRow({
  session,
  title,
  facts,
  endLabel,
}: {
  session: OwnSession
  title: ReactNode
  facts: string
  endLabel: string
}) {
  const end = useEndSessions()
  const toasts = useToasts()
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-5 py-4">
      <div className="grid min-w-0 gap-0.5">
        <p className="flex flex-wrap items-center gap-2 font-medium wrap-anywhere">{title}</p>
        <p className="text-[0.8125rem] text-muted">{facts}</p>
      </div>
      {!session.current && (
        <Button
          size="small"
          busy={end.isPending}
          aria-label={endLabel}
          onClick={() => end.mutate(session.id, { onError: toasts.error })}
        >
          {text.profile.endSession}
        </Button>
      )}
    </li>
  )
}
