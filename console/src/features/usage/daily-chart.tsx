import { Bar, BarChart, CartesianGrid, Tooltip, XAxis, YAxis } from 'recharts'
import type { DailyUsage } from '../../../../server/src/contract.ts'
import { formatCompact, formatHours, formatMoney, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { stackByDay, type Measure, type Series } from './breakdown.ts'
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
  const rows = days.map((day, index) => ({ day, values: series.map(({ values }) => values[index] ?? 0) }))
  return (
    <figure className="grid gap-4">
      <BarChart
        responsive
        data={rows}
        className="h-72 w-full"
        title={text.usage.chart[measure](formatUtcDay(usage.from), formatUtcDay(usage.to), total)}
        desc={text.usage.chartHint}
        margin={{ top: 8, right: 0, bottom: 0, left: 0 }}
      >
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis
          dataKey="day"
          tickFormatter={formatUtcDay}
          tick={{ fill: 'var(--muted)', fontSize: 12 }}
          tickLine={false}
          axisLine={{ stroke: 'var(--line)' }}
          minTickGap={24}
        />
        <YAxis
          width="auto"
          tickFormatter={format}
          tick={{ fill: 'var(--muted)', fontSize: 12 }}
          tickLine={false}
          axisLine={false}
          tickCount={4}
        />
        <Tooltip
          cursor={{ fill: 'var(--subtle)' }}
          isAnimationActive={false}
          content={<DayCard days={days} series={series} format={format} />}
        />
        {series.map(({ name }, index) => (
          <Bar
            key={name}
            name={name}
            dataKey={({ values }: (typeof rows)[number]) => values[index]}
            stackId="day"
            fill={colors[index]}
            maxBarSize={36}
            isAnimationActive={false}
          />
        ))}
      </BarChart>
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

interface DayCardProps {
  days: string[]
  series: Series[]
  format: (value: number) => string
  /** The chart passes `active` and `label`. */
  active?: boolean
  label?: string | number
}

/** The tooltip with the numbers of one day. */
function DayCard({ days, series, format, active, label }: DayCardProps) {
  if (!active || typeof label !== 'string') return null
  const index = days.indexOf(label)
  const used = series
    .map(({ name, values }, color) => ({ name, color, value: values[index] ?? 0 }))
    .filter(({ value }) => value > 0)
  return (
    <div className="grid min-w-44 gap-1.5 rounded-lg border bg-raised px-3 py-2 text-[0.8125rem] shadow-lg">
      <p className="flex justify-between gap-6 font-medium">
        {formatUtcDay(label)}
        <span className="tabular">{format(used.reduce((sum, { value }) => sum + value, 0))}</span>
      </p>
      {used.map(({ name, color, value }) => (
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
