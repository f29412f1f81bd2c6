import { Chart } from '../../components/chart.tsx'
import type { ChartSeries } from '../../components/chart.tsx'
import { formatHourAndMinute, formatMoment, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.deploymentParts

/** Longer times have days as labels. */
const longMilliseconds = 2 * 86_400_000

interface TimeChartProps {
  kind: 'bars' | 'lines'
  title: string
  /** Describes the chart to screen readers. */
  label: string
  /** Of the values of each series */
  times: string[]
  series: ChartSeries[]
  formatTick: (value: number) => string
  format: (value: number) => string
}

/** A chart of values over time with a legend. */
export function TimeChart({ kind, title, label, times, series, formatTick, format }: TimeChartProps) {
  const isLong = Date.parse(times.at(-1) ?? '') - Date.parse(times[0] ?? '') > longMilliseconds
  const places = times.map(isLong ? formatUtcDay : formatHourAndMinute)
  return (
    <figure className="grid min-w-0 gap-4">
      <figcaption className="flex h-5 items-center justify-between gap-4 text-[0.8125rem]">
        <span className="font-medium">{title}</span>
        <span className="flex gap-3 text-xs text-muted">
          {series.map(({ name, color }) => (
            <span key={name} className="flex items-center gap-1.5">
              <span aria-hidden className="size-2 rounded-full" style={{ background: color }} />
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      <Chart
        kind={kind}
        label={label}
        places={places}
        times={times}
        series={series}
        format={formatTick}
        whole={kind === 'bars'}
        renderCard={(place) => (
          <>
            <p className="font-medium">{isLong ? formatMoment(times[place]!) : places[place]}</p>
            {series.map(({ name, values }) => (
              <p key={name} className="tabular flex justify-between gap-4">
                {name}
                <span>{formatNullable(values[place] ?? null, format)}</span>
              </p>
            ))}
          </>
        )}
        className="h-48"
      />
    </figure>
  )
}

const formatNullable = (value: number | null, format: (value: number) => string) =>
  value === null ? words.noValue : format(value)
