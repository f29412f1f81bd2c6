import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { UsageSummary } from '../../../../server/src/contract.ts'
import { useCan } from '../../api/session.ts'
import { Figure, Page, Section } from '../../components/page.tsx'
import { ErrorState, Notice, Skeleton } from '../../components/states.tsx'
import { formatCompact, formatHours, formatMoney, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { TrialCredit } from '../billing/trial-credit.tsx'
import { Anomalies } from './anomalies.tsx'
import { DailyUsageSection } from './daily-usage-section.tsx'
import { sumDecimals } from './decimal.ts'
import { Estimate } from './estimate.tsx'
import { usageSummaryQuery } from './queries.ts'

const route = getRouteApi('/app/usage')

/** What the organization used: the estimate of the period, usage by the day, and what is wrong with it. */
export function UsagePage() {
  const days = route.useSearch()
  const { data: summary, error, refetch } = useQuery(usageSummaryQuery)
  const canManageBilling = useCan()('manageBilling')
  const seesFindings = canManageBilling && (summary?.open_anomalies ?? 0) > 0
  return (
    <Page title={text.usage.title} description={text.usage.description}>
      {summary && summary.open_anomalies > 0 && (
        <Notice tone="warn" title={text.usage.anomalies(summary.open_anomalies)}>
          {text.usage.anomaliesHint}
        </Notice>
      )}
      <Section>
        {summary === undefined && error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : (
          <div className="grid gap-6">
            <dl className="grid grid-cols-2 gap-x-6 gap-y-5 lg:grid-cols-4">
              {summary ? <PeriodFigures summary={summary} /> : <LoadingFigures />}
            </dl>
            {canManageBilling && <TrialCredit />}
          </div>
        )}
      </Section>
      <DailyUsageSection days={days} />
      {summary && summary.usage_totals.length > 0 && <Estimate summary={summary} />}
      {seesFindings && <Anomalies />}
    </Page>
  )
}

function PeriodFigures({ summary }: { summary: UsageSummary }) {
  const sumOf = (meter: string) =>
    Number(
      sumDecimals(
        summary.usage_totals.filter((total) => total.meter === meter).map((total) => total.total_quantity),
      ),
    )
  const cost = sumDecimals(
    summary.usage_totals
      .filter((total) => total.estimated_amount_currency === summary.currency)
      .map((total) => total.estimated_amount),
  )
  // The period ends with the moment before its last one.
  const end = new Date(Date.parse(summary.period_end) - 1).toISOString()
  return (
    <>
      <Figure
        label={text.usage.soFar}
        value={formatMoney(cost, summary.currency)}
        hint={text.usage.period(formatUtcDay(summary.period_start), formatUtcDay(end))}
      />
      <Figure label={text.usage.instanceTime} value={formatHours(sumOf('gpu_instance_seconds') / 3_600)} />
      <Figure label={text.usage.inputTokens} value={formatCompact(sumOf('inference_input_tokens'))} />
      <Figure label={text.usage.outputTokens} value={formatCompact(sumOf('inference_output_tokens'))} />
    </>
  )
}

function LoadingFigures() {
  return Array.from({ length: 4 }, (_, index) => (
    <div key={index} role="status" aria-label={text.common.loading} className="grid gap-1.5">
      <Skeleton className="w-24" />
      <Skeleton className="h-7 w-20" />
      {index === 0 && <Skeleton className="h-4 w-40" />}
    </div>
  ))
}
