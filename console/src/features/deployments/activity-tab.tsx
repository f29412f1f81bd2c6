import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import type { Deployment, DeploymentActivityItem } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { isFinished } from '../../domain/deployments/status.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { formatDuration, formatInstant, formatMoment } from '../../format.ts'
import { text } from '../../text/index.ts'
import { activityQuery } from './activity-queries.ts'
import { describeSetting, listSettings } from './describe-settings.ts'
import { parseFailure } from './failure-reason.ts'
import { nameStep } from './steps.ts'
import { Timeline } from './timeline.tsx'
import { useLiveEvents } from './use-live-events.ts'

const words = text.activity

/** Changes, starts, sleeps and failures of a deployment, newest first. */
export function ActivityTab({ deployment }: { deployment: Deployment }) {
  const { id } = deployment
  const query = useInfiniteQuery(activityQuery(id))
  useNewActivity(deployment)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Section title={words.title} description={words.description} flush>
        <Loaded query={query} rows={3}>
          {({ pages }) =>
            pages[0]!.items.length === 0 ? (
              <p className="p-5 text-muted">{words.none}</p>
            ) : (
              <ol aria-label={words.title} className="divide-y">
                {pages
                  .flatMap(({ items }) => items)
                  .map((item) => (
                    <Item key={item.id} item={item} deployment={deployment} />
                  ))}
              </ol>
            )
          }
        </Loaded>
        {query.hasNextPage && (
          <div className="border-t px-5 py-3">
            <Button size="small" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              {words.more}
            </Button>
          </div>
        )}
      </Section>
      <AllSteps deployment={deployment} />
    </div>
  )
}

/** Refetches the activity when an event arrives. */
function useNewActivity(deployment: Deployment) {
  const queryClient = useQueryClient()
  const last = useLiveEvents(deployment).data?.at(-1)?.id
  useEffect(() => {
    if (last !== undefined)
      void queryClient.invalidateQueries({ queryKey: activityQuery(deployment.id).queryKey })
  }, [queryClient, deployment.id, last])
}

function Item({ item, deployment }: { item: DeploymentActivityItem; deployment: Deployment }) {
  const { at, change, seconds, by } = item
  const access = useAccess(deployment)
  const isRestorable = access.change && !isFinished(deployment) && change !== null
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-1 px-5 py-3.5">
      <h3 className="font-medium">{change === null ? nameItem(item) : words.changedBy(by)}</h3>
      <p className="tabular text-right text-[0.8125rem] whitespace-nowrap text-muted">
        <time dateTime={at} title={formatMoment(at)}>
          {formatInstant(at)}
        </time>
      </p>
      {change === null ? (
        <p className="col-span-full min-w-0 wrap-anywhere text-muted sm:col-span-1">
          {item.status === 'failed' ? parseFailure(item.message).sentence : item.message}
        </p>
      ) : (
        <dl className="col-span-full grid min-w-0 gap-0.5 text-muted sm:col-span-1">
          {listSettings(change.after).map((name) => (
            <div key={name} className="flex flex-wrap gap-x-2">
              <dt>{words.settings[name]}:</dt>
              <dd className="min-w-0 wrap-anywhere">
                {describeSetting(name, change.before[name])} →{' '}
                <span className="text-ink">{describeSetting(name, change.after[name])}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {seconds !== null && (
        <p className="tabular col-span-full text-[0.8125rem] whitespace-nowrap text-muted sm:col-span-1 sm:text-right">
          {words.took(formatDuration(seconds * 1_000))}
        </p>
      )}
      {isRestorable && (
        <div className="col-span-full mt-1">
          <Button asChild size="small">
            <Link
              to="/deployments/$deploymentId"
              params={{ deploymentId: deployment.id }}
              search={{ tab: 'settings', restore: String(item.id) }}
              aria-label={words.restoreOf(formatInstant(at))}
            >
              {words.restore}
            </Link>
          </Button>
        </div>
      )}
    </li>
  )
}

function nameItem({ status, stage, transition }: DeploymentActivityItem): string {
  const name = nameStep({ isChange: false, status, stage, transition })
  const { steps, stages, failedAt } = text.timeline
  if (status === 'failed' && stage !== 'termination') return failedAt(stages[stage ?? ''] ?? stage ?? '')
  return steps[name] ?? steps['other']!
}

/** The timeline, which is long, when a person opens it. */
function AllSteps({ deployment }: { deployment: Deployment }) {
  const [isOpen, setOpen] = useState(false)
  return isOpen ? (
    <Timeline deployment={deployment} />
  ) : (
    <Button className="justify-self-start" onClick={() => setOpen(true)}>
      {words.allSteps}
    </Button>
  )
}
