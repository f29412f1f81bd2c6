import type { DailyUsage } from '../../contract.ts'
import { Chart } from '../../components/chart.tsx'
import { formatCompact, formatHours, formatMoney, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { stackByDay } from './breakdown.ts'
import type { Series } from './breakdown.ts'
import type { Measure } from './measures.ts'
import { listDays } from './range.ts'

const colors = [1, 2, 3, 4, 5, 6].map((number) => `var(--series-${number})`)

/** One bar per day, stacked by instance type or model. */
export function DailyChart({ usage, measure }: { usage: DailyUsage; measure: Measure }) {
  const days = listDays(usage)
  const series = stackByDay(usage.items, days, measure, text.usage.other)
  const format = (value: number) =>
    ({
      cost: () => formatMoney(value, usage.currency),
      hours: () => formatHours(value),
      tokens: () => formatCompact(value),
    })[measure]()
  if (series.length === 0) {
    return <p className="grid h-80 place-items-center text-muted">{text.usage.emptyChart[measure]}</p>
  }
  const total = format(series.reduce((sum, one) => sum + one.total, 0))
  const title = text.usage.chart[measure](formatUtcDay(usage.from), formatUtcDay(usage.to), total)
  return (
    <figure className="grid gap-4">
      <Chart
        kind="bars"
        label={`${title}. ${text.usage.chartHint}`}
        places={days.map(formatUtcDay)}
        series={series.map(({ name, values }, index) => ({ name, values, color: colors[index] ?? '' }))}
        format={format}
        renderCard={(place) => (
          <DayCard day={days[place] ?? ''} values={listValues(series, place)} format={format} />
        )}
        className="h-72 pt-2"
      />
      <figcaption>
        <ul className="flex flex-wrap gap-x-6 gap-y-1.5">
          {series.map(({ name, total }, index) => (
            <li key={name} className="flex items-center gap-2">
              <Swatch index={index} />
              {name}
              <span className="tabular text-muted">{format(total)}</span>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  )
}

const listValues = (series: readonly Series[], place: number) =>
  series
    .map(({ name, values }, color) => ({ name, color, value: values[place] ?? 0 }))
    .filter(({ value }) => value > 0)

interface DayCardProps {
  day: string
  values: { name: string; color: number; value: number }[]
  format: (value: number) => string
}

/** The numbers of one day. */
function DayCard({ day, values, format }: DayCardProps) {
  return (
    <div className="grid gap-1.5">
      <p className="flex justify-between gap-6 font-medium">
        {formatUtcDay(day)}
        <span className="tabular">{format(values.reduce((sum, { value }) => sum + value, 0))}</span>
      </p>
      {values.map(({ name, color, value }) => (
        <p key={name} className="flex items-center gap-2">
          <Swatch index={color} />
          <span className="min-w-0 truncate">{name}</span>
          <span className="tabular ml-auto pl-4 text-muted">{format(value)}</span>
        </p>
      ))}
    </div>
  )
}

function Swatch({ index }: { index: number }) {
  return (
    <span aria-hidden className="size-2.5 shrink-0 rounded-[3px]" style={{ background: colors[index] }} />
  )
}
