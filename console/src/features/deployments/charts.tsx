import type { DeploymentStatistics } from '../../contract.ts'
import type { ChartSeries } from '../../components/chart.tsx'
import { formatCompact, formatDuration, formatHourAndMinute, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { TimeChart } from './time-chart.tsx'

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
