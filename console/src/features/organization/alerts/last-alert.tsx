import type { WebhookAlert } from '../../../contract.ts'
import { Badge } from '../../../components/badge.tsx'
import type { Tone } from '../../../components/badge.tsx'
import { formatRelative } from '../../../format.ts'
import { text } from '../../../text/index.ts'

const words = text.alerts

type Status = keyof typeof words.statuses

const tones: Record<Status, Tone> = { pending: 'busy', retrying: 'warn', delivered: 'good', failed: 'bad' }

/** The delivery of the latest alert. Screen readers announce changes, such as a test's outcome. */
export function LastAlert({ alert }: { alert: WebhookAlert | null }) {
  return <div role="status">{alert === null ? words.noAlert : <Delivery alert={alert} />}</div>
}

function Delivery({ alert: { type, at, status, error } }: { alert: WebhookAlert }) {
  const shown: Status = status === 'pending' && error !== null ? 'retrying' : status
  return (
    <>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Badge tone={tones[shown]}>{words.statuses[shown]}</Badge>
        {words.caused(words.types[type]?.name ?? type, formatRelative(at))}
      </span>
      {error !== null && <span className="mt-1 block text-[0.8125rem] text-muted">{error}</span>}
    </>
  )
}
