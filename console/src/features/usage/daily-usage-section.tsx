import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ChartColumn } from 'lucide-react'
import { Fragment } from 'react'
import { ApiError } from '../../api/client.ts'
import { useCan } from '../../api/session.ts'
import { classNames } from '../../class-names.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { EmptyState, ErrorMessage, ErrorState, Skeleton } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import type { DailyUsage } from '../../contract.ts'
import { formatMoney, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sumByMeter } from './breakdown.ts'
import { DailyChart } from './daily-chart.tsx'
import { formatQuantity } from './estimate.tsx'
import { dailyUsageQuery } from './queries.ts'
import { measures } from './measures.ts'
import type { Measure } from './measures.ts'
import type { RequestedDays } from './range.ts'
import { TotalRow } from './total-row.tsx'
import { UsageHeader } from './usage-header.tsx'

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
      {usage && !isUnused && <MeterTable usage={usage} />}
    </>
  )
}

/** Totals of the selected days by meter and, within each, by instance type or model. */
function MeterTable({ usage: { items, currency, from, to } }: { usage: DailyUsage }) {
  return (
    <Section
      flush
      title={text.usage.breakdown}
      description={text.usage.span(formatUtcDay(from), formatUtcDay(to))}
    >
      <Table
        label={text.usage.breakdown}
        head={
          <>
            <HeadCell>{text.usage.meterHead}</HeadCell>
            <HeadCell numeric>{text.usage.quantity}</HeadCell>
            <HeadCell numeric>{text.usage.amount}</HeadCell>
          </>
        }
      >
        {sumByMeter(items).map((sum) => (
          <Fragment key={sum.meter}>
            <tr className="border-b-0">
              <th scope="row" className="px-5 py-3 font-medium">
                {text.usage.meter(sum.meter)}
              </th>
              <Cell numeric className="font-medium whitespace-nowrap">
                {formatQuantity(sum.quantity, sum.unit)}
              </Cell>
              <Cell numeric className="font-medium">
                {formatMoney(sum.amount, currency)}
              </Cell>
            </tr>
            {sum.parts.map((part, index) => (
              <tr
                key={part.label}
                className={classNames('text-muted', index < sum.parts.length - 1 && 'border-b-0')}
              >
                <td className="px-5 pt-0 pb-3 pl-9">{part.label}</td>
                <td className="tabular px-5 pt-0 pb-3 text-right whitespace-nowrap">
                  {formatQuantity(part.quantity, sum.unit)}
                </td>
                <td className="tabular px-5 pt-0 pb-3 text-right">{formatMoney(part.amount, currency)}</td>
              </tr>
            ))}
          </Fragment>
        ))}
        <TotalRow amounts={items.map((item) => item.estimated_amount)} currency={currency} columns={2} />
      </Table>
    </Section>
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
