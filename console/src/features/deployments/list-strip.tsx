import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { organizationQuery } from '../../api/session.ts'
import { usageSummaryQuery } from '../../domain/billing/queries.ts'
import { usePaysHere } from '../../domain/installation.ts'
import { formatMoney, formatNumber, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.listStrip

/** What the organization runs and pays now, in a line. Without billing, no money and no limit. */
export function ListStrip() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const { data: summary } = useQuery(usageSummaryQuery)
  const pays = usePaysHere()
  if (!summary) return null
  const { currency, active_deployments: deployments, active_resources: instances } = summary
  const period = summary.usage_totals
    .filter((total) => total.estimated_amount_currency === currency)
    .reduce((sum, total) => sum + Number(total.estimated_amount), 0)
  const end = new Date(Date.parse(summary.period_end) - 1).toISOString()
  return (
    <ul
      aria-label={organization.name}
      className="flex flex-wrap gap-x-5 gap-y-1 tabular text-muted *:whitespace-nowrap"
    >
      <li className="max-w-60 truncate font-medium text-ink" title={organization.name}>
        {organization.name}
      </li>
      <li>{words.running(formatNumber(summary.running_deployments))}</li>
      {pays && (
        <>
          <li>{words.perHour(formatMoney(summary.price_per_hour, currency))}</li>
          <li title={words.periodWords(formatUtcDay(summary.period_start), formatUtcDay(end))}>
            {words.period(formatMoney(period, currency))}
          </li>
        </>
      )}
      <li>
        {pays
          ? words.limit(deployments, formatNumber(instances), formatNumber(summary.max_active_resources))
          : words.noLimit(deployments, instances)}
      </li>
    </ul>
  )
}
