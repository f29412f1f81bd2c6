import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { classNames } from '../../class-names.ts'
import type { ChartSeries } from '../../components/chart.tsx'
import type { Deployment, DeploymentStatistics } from '../../contract.ts'
import { Figure, Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatCompact, formatDuration, formatNumber, formatPercent } from '../../format.ts'
import { text } from '../../text/index.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { BenchmarkSection } from './benchmark-section.tsx'
import { UsageFigures } from './details.tsx'
import { LoadCharts } from './load-charts.tsx'
import { MemberStatistics } from './member-statistics.tsx'
import { statisticsQuery } from './queries.ts'
import { statisticsWindows } from './statistics-windows.ts'
import { SeriesTable } from './series-table.tsx'
import { TimeChart } from './time-chart.tsx'

const words = text.deploymentParts
const route = getRouteApi('/app/deployments/$deploymentId')

/** Requests, errors, tokens and latencies within a time window, and usage since the creation. */
export function MetricsTab({ deployment }: { deployment: Deployment }) {
  const { inspect } = useAccess(deployment)
  const { window = '1h' } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, error, refetch, isPlaceholderData } = useQuery(
    statisticsQuery(deployment.id, window, deployment.status === 'terminated'),
  )
  return (
    <div className="grid gap-5">
      <div className="flex justify-end">
        <SegmentedControl
          label={text.statistics.window}
          value={window}
          onValueChange={(next) =>
            void navigate({
              search: (previous) => ({ ...previous, window: next }),
              replace: true,
              resetScroll: false,
            })
          }
          options={statisticsWindows.map((value) => ({ value, label: text.statistics.windows[value] }))}
        />
      </div>
      {data === undefined && error ? (
        <Section>
          <ErrorState error={error} onRetry={() => void refetch()} />
        </Section>
      ) : (
        <div className={classNames('grid gap-5 transition-opacity', isPlaceholderData && 'opacity-60')}>
          <Section>
            <Figures statistics={data} />
          </Section>
          <Section title={text.statistics.latency} description={text.statistics.latencyWords} flush>
            <Latencies statistics={data} />
          </Section>
          {data && <MemberStatistics deployment={deployment} members={data.members} />}
          <LoadCharts statistics={data} />
          <Section title={text.statistics.overTime}>
            {data ? (
              <div className="grid gap-5">
                <Charts statistics={data} />
                <SeriesTable
                  label={text.statistics.overTime}
                  empty={text.statistics.noRequests}
                  points={data.series.filter(({ requests }) => requests > 0)}
                  columns={[
                    [words.requests, (point) => formatNumber(point.requests)],
                    [words.errors, (point) => formatNumber(point.errors)],
                    [words.outputTokens, (point) => formatNumber(point.output_tokens)],
                    [
                      `${text.statistics.chartDuration} ${text.statistics.p50}`,
                      (point) => formatLatency(point.duration_p50_ms),
                    ],
                    [
                      `${text.statistics.chartDuration} ${text.statistics.p95}`,
                      (point) => formatLatency(point.duration_p95_ms),
                    ],
                  ]}
                />
              </div>
            ) : (
              <ChartsSkeleton />
            )}
          </Section>
        </div>
      )}
      {inspect && deployment.model_type === 'LLM' && <BenchmarkSection deployment={deployment} />}
      {inspect && (
        <Section title={text.statistics.sinceStart}>
          <UsageFigures deployment={deployment} wide />
        </Section>
      )}
    </div>
  )
}

/** Charts of requests, durations and tokens over time. SeriesTable has the same numbers. */
function Charts({ statistics }: { statistics: DeploymentStatistics }) {
  const { series: points, requests, errors, output_tokens } = statistics
  const times = points.map(({ at }) => at)
  const toSeries = (name: string, color: number, read: (point: Point) => number | null): ChartSeries => ({
    name,
    color: `var(--series-${color})`,
    values: points.map(read),
  })
  return (
    <div className="grid gap-8 lg:grid-cols-3">
      <TimeChart
        kind="bars"
        title={text.statistics.chartRequests}
        label={text.statistics.chartRequestsLabel(formatNumber(requests), formatNumber(errors))}
        times={times}
        series={[
          toSeries(text.statistics.succeeded, 1, (point) => point.requests - point.errors),
          toSeries(words.errors, 6, (point) => point.errors),
        ]}
        formatTick={formatCompact}
        format={formatNumber}
      />
      <TimeChart
        kind="lines"
        title={text.statistics.chartDuration}
        label={text.statistics.chartDurationLabel}
        times={times}
        series={[
          toSeries(text.statistics.p50, 1, (point) => point.duration_p50_ms),
          toSeries(text.statistics.p95, 3, (point) => point.duration_p95_ms),
        ]}
        formatTick={formatDuration}
        format={formatDuration}
      />
      <TimeChart
        kind="bars"
        title={text.statistics.chartTokens}
        label={text.statistics.chartTokensLabel(formatNumber(output_tokens))}
        times={times}
        series={[toSeries(words.outputTokens, 2, (point) => point.output_tokens)]}
        formatTick={formatCompact}
        format={formatNumber}
      />
    </div>
  )
}

type Point = DeploymentStatistics['series'][number]

function Figures({ statistics }: { statistics: DeploymentStatistics | undefined }) {
  const shown = (value: (statistics: DeploymentStatistics) => string) =>
    statistics ? value(statistics) : <Skeleton className="my-1 h-5 w-16" />
  return (
    <dl className="grid grid-cols-2 gap-4 sm:grid-cols-5">
      <Figure
        label={words.requests}
        value={shown(({ requests }) => formatNumber(requests))}
        hint={
          statistics && statistics.caller_left + statistics.retries > 0
            ? text.statistics.leftAndRetries(
                formatNumber(statistics.caller_left),
                formatNumber(statistics.retries),
              )
            : undefined
        }
      />
      <Figure
        label={words.errors}
        value={shown(({ errors }) => formatNumber(errors))}
        hint={
          statistics && statistics.errors > 0
            ? text.statistics.errorShare(formatPercent(statistics.errors / statistics.requests))
            : undefined
        }
      />
      <Figure label={text.statistics.inFlight} value={shown(({ in_flight }) => formatNumber(in_flight))} />
      <Figure label={words.inputTokens} value={shown(({ input_tokens }) => formatCompact(input_tokens))} />
      <Figure label={words.outputTokens} value={shown(({ output_tokens }) => formatCompact(output_tokens))} />
    </dl>
  )
}

function Latencies({ statistics }: { statistics: DeploymentStatistics | undefined }) {
  const rows = [
    { label: text.statistics.timeToFirstByte, values: statistics?.time_to_first_byte_ms },
    { label: text.statistics.duration, values: statistics?.duration_ms },
  ]
  return (
    <Table
      label={text.statistics.latency}
      head={
        <>
          <HeadCell>{text.statistics.measure}</HeadCell>
          <HeadCell numeric>{text.statistics.p50}</HeadCell>
          <HeadCell numeric>{text.statistics.p95}</HeadCell>
          <HeadCell numeric>{text.statistics.p99}</HeadCell>
        </>
      }
    >
      {rows.map(({ label, values }) => (
        <tr key={label}>
          <Cell>{label}</Cell>
          {(['p50', 'p95', 'p99'] as const).map((share) => (
            <Cell key={share} numeric className="whitespace-nowrap">
              {values === undefined ? (
                <Skeleton className="ml-auto w-12" />
              ) : values === null ? (
                words.noValue
              ) : (
                formatDuration(values[share])
              )}
            </Cell>
          ))}
        </tr>
      ))}
    </Table>
  )
}

function formatLatency(milliseconds: number | null): string {
  return milliseconds === null ? words.noValue : formatDuration(milliseconds)
}

function ChartsSkeleton() {
  return (
    <div role="status" aria-label={text.common.loading} className="grid gap-8 lg:grid-cols-3">
      {[0, 1, 2].map((chart) => (
        <Skeleton key={chart} className="h-[13.5rem] rounded-lg" />
      ))}
    </div>
  )
}
