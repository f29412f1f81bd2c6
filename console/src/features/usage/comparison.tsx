import { useQuery } from '@tanstack/react-query'
import type { DailyUsage } from '../../contract.ts'
import { formatMoney, formatPercent } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sumMeasure } from './breakdown.ts'
import type { GroupedUsage, UsageGroup } from './groups.ts'
import { dailyUsageQuery, groupedUsageQuery } from './queries.ts'
import { daysBefore, listDays } from './range.ts'

interface ComparisonProps {
  usage: DailyUsage | GroupedUsage
  /** undefined for days */
  group: UsageGroup | undefined
}

/** The cost of some days beside that of as many days before. */
export function Comparison({ usage, group }: ComparisonProps) {
  const days = daysBefore(usage)
  const daily = useQuery({ ...dailyUsageQuery(days), enabled: group === undefined })
  const grouped = useQuery({ ...groupedUsageQuery(days, group ?? 'model'), enabled: group !== undefined })
  const { data: before, isPlaceholderData } = group === undefined ? daily : grouped
  if (before === undefined || isPlaceholderData) return <p className="h-5" />
  const [now, then] = [sumMeasure(usage.items, 'cost'), sumMeasure(before.items, 'cost')]
  const write = (amount: number) => formatMoney(amount, usage.currency)
  const change = then > 0 ? now / then - 1 : null
  return (
    <p className="tabular text-muted">
      {text.comparison.amounts(write(now), write(then), listDays(usage).length)}{' '}
      {change !== null && text.comparison.change(change, formatPercent(Math.abs(change)))}
    </p>
  )
}
