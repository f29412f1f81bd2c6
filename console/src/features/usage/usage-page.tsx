import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Suspense } from 'react'
import type { UsageSummary } from '../../contract.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Figure, Page, Section } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { usageSummaryQuery } from '../../domain/billing/queries.ts'
import { formatCompact, formatHours, formatMoney, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { TrialCredit } from '../../domain/billing/trial-credit.tsx'
import { ownBudgetsQuery } from '../../domain/budgets/queries.ts'
import { sumDecimals } from '../../domain/billing/decimal.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { UsageSection } from './usage-section.tsx'

const route = getRouteApi('/app/usage')
// Below the first screen, or for a few people
const AnomaliesNotice = lazyPart(() =>
  import('./anomalies-notice.tsx').then((module) => module.AnomaliesNotice),
)
const Estimate = lazyPart(() => import('./estimate.tsx').then((module) => module.Estimate))
const Findings = lazyPart(() => import('./findings.tsx').then((module) => module.Findings))
const OwnBudgets = lazyPart(() => import('./own-budgets.tsx').then((module) => module.OwnBudgets))
const BudgetNotices = lazyPart(() =>
  import('../../domain/budgets/budget-notices.tsx').then((module) => module.BudgetNotices),
)

const figures = 'grid grid-cols-2 gap-x-6 gap-y-5 lg:grid-cols-4'

/** The organization's usage: the billing period's estimate, usage by day or group, and anomalies. */
export function UsagePage() {
  const { group, measure, from, to } = route.useSearch()
  const days = { from, to }
  const period = useQuery(usageSummaryQuery)
  const summary = period.data
  const { data: budgets = [] } = useQuery(ownBudgetsQuery)
  const canManageBilling = useCan()('manageBilling')
  const seesFindings = canManageBilling && (summary?.open_anomalies ?? 0) > 0
  return (
    <Page
      {...text.pages.usage}
      actions={
        <Button asChild>
          <Link to="/usage/requests">{text.usage.toRequests}</Link>
        </Button>
      }
    >
      {summary && summary.open_anomalies > 0 && (
        <Suspense>
          <AnomaliesNotice count={summary.open_anomalies} seesFindings={seesFindings} />
        </Suspense>
      )}
      {budgets.length > 0 && (
        <Suspense>
          <BudgetNotices budgets={budgets} />
        </Suspense>
      )}
      <Section>
        <div className="grid gap-6">
          <Loaded query={period} loading={<LoadingFigures />}>
            {(loaded) => <PeriodFigures summary={loaded} />}
          </Loaded>
          {canManageBilling && <TrialCredit />}
        </div>
      </Section>
      {budgets.length > 0 && (
        <Suspense>
          <OwnBudgets budgets={budgets} />
        </Suspense>
      )}
      <UsageSection days={days} group={group} measure={measure ?? 'cost'} />
      <Suspense>
        {summary && summary.usage_totals.length > 0 && <Estimate summary={summary} />}
        {seesFindings && <Findings />}
      </Suspense>
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
  // The end of the period is exclusive.
  const end = new Date(Date.parse(summary.period_end) - 1).toISOString()
  return (
    <dl className={figures}>
      <Figure
        label={text.usage.soFar}
        value={formatMoney(cost, summary.currency)}
        hint={text.usage.period(formatUtcDay(summary.period_start), formatUtcDay(end))}
      />
      <Figure label={text.usage.instanceTime} value={formatHours(sumOf('gpu_instance_seconds') / 3_600)} />
      <Figure
        label={text.usage.inputTokens}
        value={formatCompact(sumOf('inference_input_tokens') + sumOf('inference_cached_tokens'))}
      />
      <Figure label={text.usage.outputTokens} value={formatCompact(sumOf('inference_output_tokens'))} />
    </dl>
  )
}

function LoadingFigures() {
  return (
    <div role="status" aria-label={text.common.loading} className={figures}>
      {Array.from({ length: 4 }, (_, index) => (
        <div key={index} className="grid content-start gap-1">
          <Skeleton className="h-5 w-24" />
          <Skeleton className="h-6 w-20" />
          {index === 0 && <Skeleton className="w-40 max-w-full" />}
        </div>
      ))}
    </div>
  )
}
