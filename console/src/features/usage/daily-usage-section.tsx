import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ChartColumn } from 'lucide-react'
import { Suspense } from 'react'
import { ApiError } from '../../api/client.ts'
import { useCan } from '../../api/session.ts'
import { classNames } from '../../class-names.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { EmptyState, ErrorMessage, ErrorState, Skeleton } from '../../components/states.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { DailyChart } from './daily-chart.tsx'
import { dailyUsageQuery } from './queries.ts'
import { measures } from './measures.ts'
import type { Measure } from './measures.ts'
import type { RequestedDays } from './range.ts'
import { UsageHeader } from './usage-header.tsx'

// Below the first screen
const MeterTable = lazyPart(() => import('./meter-table.tsx').then((module) => module.MeterTable))

/** Usage of the selected days as a chart, and by meter as a table. */
export function DailyUsageSection({ days, measure }: { days: RequestedDays; measure: Measure }) {
  const navigate = useNavigate()
  const { data: usage, error, isPlaceholderData, refetch } = useQuery(dailyUsageQuery(days))
  // Keep showing loaded data while the server is unreachable.
  const failure = usage === undefined ? error : null
  const isRefused = failure instanceof ApiError && failure.status === 422
  const isUnused = usage?.items.length === 0
  const isFirstVisit = isUnused && days.from === undefined && days.to === undefined
  return (
    <>
      <Section>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <UsageHeader
            group={undefined}
            requested={days}
            shown={isPlaceholderData ? undefined : usage}
            isUnused={isUnused}
          />
          {isRefused && <ErrorMessage error={failure} />}
          {failure && !isRefused && <ErrorState error={failure} onRetry={() => void refetch()} />}
          {isFirstVisit && <NothingYet />}
          {!failure && !isFirstVisit && (
            <div
              className={classNames(
                'grid grid-cols-[minmax(0,1fr)] gap-5 transition-opacity',
                isPlaceholderData && 'opacity-50',
              )}
            >
              <div>
                <SegmentedControl
                  label={text.usage.measure}
                  value={measure}
                  onValueChange={(next) =>
                    void navigate({
                      to: '/usage',
                      search: (previous) => ({ ...previous, measure: next }),
                      replace: true,
                      resetScroll: false,
                    })
                  }
                  options={measures.map((value) => ({ value, label: text.usage.measures[value] }))}
                />
              </div>
              {/* Reserves the chart's space. */}
              <div className="min-h-80">
                {usage ? (
                  <DailyChart usage={usage} measure={measure} />
                ) : (
                  <div role="status" aria-label={text.common.loading}>
                    <Skeleton className="h-80" />
                  </div>
                )}
              </div>
            </div>
          )}
        </div>
      </Section>
      <Suspense>{usage && !isUnused && <MeterTable usage={usage} />}</Suspense>
    </>
  )
}

function NothingYet() {
  const can = useCan()
  return (
    <EmptyState
      icon={<ChartColumn />}
      title={text.usage.nothingYet}
      action={
        can('createDeployments') && (
          <Button variant="primary" asChild>
            <Link to="/catalog">{text.usage.deployModel}</Link>
          </Button>
        )
      }
    >
      {text.usage.nothingYetHint}
    </EmptyState>
  )
}
