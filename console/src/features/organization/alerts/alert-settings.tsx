import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { Badge } from '../../../components/badge.tsx'
import type { Tone } from '../../../components/badge.tsx'
import type { Webhook, WebhookAlert } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/page.tsx'
import { ErrorMessage } from '../../../components/states.tsx'
import { formatRelative } from '../../../format.ts'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { text } from '../../../text/index.ts'
import { Fact } from '../fact.tsx'
import { useTestWebhook, webhookQuery } from './queries.ts'
import type { OpenDialog } from './webhook-dialogs.tsx'

const tones: Record<Status, Tone> = { pending: 'busy', retrying: 'warn', delivered: 'good', failed: 'bad' }

const words = text.alerts

const WebhookDialogs = lazyPart(() => import('./webhook-dialogs.tsx').then((module) => module.WebhookDialogs))

/** The webhook that gets the organization's alerts; requires the `updateOrganization` permission. */
export function AlertSettings() {
  const query = useQuery(webhookQuery)
  const [open, setOpen] = useState<OpenDialog | null>(null)
  return (
    <Section
      className="max-w-2xl"
      title={words.title}
      description={words.description}
      actions={
        <Button size="small" onClick={() => setOpen('format')}>
          {words.format}
        </Button>
      }
    >
      <Loaded query={query} rows={1}>
        {(webhook) =>
          webhook === null ? (
            <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
              <p>{words.none}</p>
              <Button onClick={() => setOpen('url')}>{words.set}</Button>
            </div>
          ) : (
            <WebhookView webhook={webhook} onOpen={setOpen} />
          )
        }
      </Loaded>
      {open !== null && (
        <Suspense>
          <WebhookDialogs open={open} url={query.data?.url} onChange={setOpen} />
        </Suspense>
      )}
    </Section>
  )
}

interface WebhookViewProps {
  webhook: Webhook
  onOpen: (dialog: OpenDialog) => void
}

function WebhookView({ webhook, onOpen }: WebhookViewProps) {
  const test = useTestWebhook()
  return (
    <div className="grid gap-5">
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-2">
        <Fact name={words.url}>
          <code className="font-mono text-[0.8125rem] break-all">{webhook.url}</code>
        </Fact>
        <Fact name={words.lastAlert}>
          <LastAlert alert={webhook.last_alert} />
        </Fact>
      </dl>
      <div className="flex flex-wrap gap-2">
        <Button busy={test.isPending} onClick={() => test.mutate()}>
          {words.test}
        </Button>
        <Button onClick={() => onOpen('url')}>{words.change}</Button>
        <Button onClick={() => onOpen('replace')}>{words.replace}</Button>
        <Button variant="quiet" onClick={() => onOpen('remove')}>
          {words.delete}
        </Button>
      </div>
      <ErrorMessage error={test.error} />
    </div>
  )
}

type Status = keyof typeof words.statuses

/** The delivery of the latest alert. Screen readers announce changes, such as a test's outcome. */
function LastAlert({ alert }: { alert: WebhookAlert | null }) {
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
