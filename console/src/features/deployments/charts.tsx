import type { DeploymentStatistics } from '../../contract.ts'
import { Chart } from '../../components/chart.tsx'
import type { ChartSeries } from '../../components/chart.tsx'
import { formatCompact, formatDuration, formatHourAndMinute, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.deployment

/** Charts of requests, durations and tokens over time. SeriesTable has the same numbers. */
export function Charts({ statistics }: { statistics: DeploymentStatistics }) {
  const { series: points, requests, errors, output_tokens } = statistics
  const places = points.map(({ at }) => formatHourAndMinute(at))
  const toSeries = (name: string, color: number, read: (point: Point) => number | null): ChartSeries => ({
    name,
    color: `var(--series-${color})`,
    values: points.map(read),
  })
  return (
    <div className="grid gap-8 lg:grid-cols-3">
      <TimeChart
        kind="bars"
        title={words.chartRequests}
        label={words.chartRequestsLabel(formatNumber(requests), formatNumber(errors))}
        places={places}
        series={[
          toSeries(words.succeeded, 1, (point) => point.requests - point.errors),
          toSeries(words.errors, 6, (point) => point.errors),
        ]}
        formatTick={formatCompact}
        format={formatNumber}
      />
      <TimeChart
        kind="lines"
        title={words.chartDuration}
        label={words.chartDurationLabel}
        places={places}
        series={[
          toSeries(words.p50, 1, (point) => point.duration_p50_ms),
          toSeries(words.p95, 3, (point) => point.duration_p95_ms),
        ]}
        formatTick={formatDuration}
        format={formatDuration}
      />
      <TimeChart
        kind="bars"
        title={words.chartTokens}
        label={words.chartTokensLabel(formatNumber(output_tokens))}
        places={places}
        series={[toSeries(words.outputTokens, 2, (point) => point.output_tokens)]}
        formatTick={formatCompact}
        format={formatNumber}
      />
    </div>
  )
}

type Point = DeploymentStatistics['series'][number]

interface TimeChartProps {
  kind: 'bars' | 'lines'
  title: string
  /** Describes the chart to screen readers. */
  label: string
  places: string[]
  series: ChartSeries[]
  formatTick: (value: number) => string
  format: (value: number) => string
}

function TimeChart({ kind, title, label, places, series, formatTick, format }: TimeChartProps) {
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
        series={series}
        format={formatTick}
        whole={kind === 'bars'}
        renderCard={(place) => (
          <>
            <p className="font-medium">{places[place]}</p>
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
