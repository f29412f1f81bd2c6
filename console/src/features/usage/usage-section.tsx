import { useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Suspense } from 'react'
import { ApiError } from '../../api/client.ts'
import { classNames } from '../../class-names.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { ErrorMessage, Skeleton, SkeletonRows } from '../../components/states.tsx'
import type { DailyUsage } from '../../contract.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { DailyChart } from './daily-chart.tsx'
import type { UsageGroup } from './groups.ts'
import { dailyUsageQuery, groupedUsageQuery } from './queries.ts'
import { measures } from './measures.ts'
import type { Measure } from './measures.ts'
import { isCompared } from './range.ts'
import type { RequestedDays } from './range.ts'
import { UsageHeader } from './usage-header.tsx'

// Below the first screen
const MeterTable = lazyPart(() => import('./meter-table.tsx').then((module) => module.MeterTable))

const GroupedUsageTable = lazyPart(() =>
  import('./grouped-usage-table.tsx').then((module) => module.GroupedUsageTable),
)
const Comparison = lazyPart(() => import('./comparison.tsx').then((module) => module.Comparison))
const NothingYet = lazyPart(() => import('./nothing-yet.tsx').then((module) => module.NothingYet))

interface UsageSectionProps {
  days: RequestedDays
  /** undefined for days */
  group: UsageGroup | undefined
  measure: Measure
}

/** Usage of the selected days: as a chart and by meter, or by team, member, deployment or model. */
export function UsageSection({ days, group, measure }: UsageSectionProps) {
  const daily = useQuery({ ...dailyUsageQuery(days), enabled: group === undefined })
  const grouped = useQuery({ ...groupedUsageQuery(days, group ?? 'model'), enabled: group !== undefined })
  const { data: usage, error, isPlaceholderData } = group === undefined ? daily : grouped
  const isRefused = usage === undefined && error instanceof ApiError && error.status === 422
  const isUnused = usage?.items.length === 0
  const isFirstVisit = group === undefined && isUnused && days.from === undefined && days.to === undefined
  return (
    <>
      <Section>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <UsageHeader
            group={group}
            requested={days}
            shown={isPlaceholderData ? undefined : usage}
            isUnused={isUnused}
          />
          {isRefused && <ErrorMessage error={error} />}
          {isFirstVisit && (
            <Suspense>
              <NothingYet />
            </Suspense>
          )}
          {!isRefused && !isFirstVisit && (
            <div
              className={classNames(
                'grid grid-cols-[minmax(0,1fr)] gap-5 transition-opacity',
                isPlaceholderData && 'opacity-50',
              )}
            >
              {usage && isCompared(days) && (
                <Suspense fallback={<p className="h-5" />}>
                  <Comparison usage={usage} group={group} />
                </Suspense>
              )}
              {group === undefined ? (
                <Days query={daily} measure={measure} />
              ) : (
                <Suspense fallback={<SkeletonRows count={4} />}>
                  <GroupedUsageTable query={grouped} group={group} />
                </Suspense>
              )}
            </div>
          )}
        </div>
      </Section>
      <Suspense>
        {group === undefined && daily.data && !isUnused && <MeterTable usage={daily.data} />}
      </Suspense>
    </>
  )
}

function Days({ query, measure }: { query: UseQueryResult<DailyUsage>; measure: Measure }) {
  const navigate = useNavigate()
  return (
    <>
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
        <Loaded query={query} loading={<LoadingChart />}>
          {(usage) => <DailyChart usage={usage} measure={measure} />}
        </Loaded>
      </div>
    </>
  )
}

function LoadingChart() {
  return (
    <div role="status" aria-label={text.common.loading}>
      <Skeleton className="h-80" />
    </div>
  )
}
