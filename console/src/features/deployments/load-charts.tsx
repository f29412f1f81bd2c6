import type { DeploymentStatistics } from '../../contract.ts'
import { Section } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { formatMean } from '../../format.ts'
import { text } from '../../text/index.ts'
import { SeriesTable } from './series-table.tsx'
import { TimeChart } from './time-chart.tsx'

type Point = DeploymentStatistics['series'][number]

const words = text.statistics

/** How many instances a deployment had over time, and how many requests they and the queue held. */
export function LoadCharts({ statistics }: { statistics: DeploymentStatistics | undefined }) {
  return (
    <Section title={words.instancesAndLoad} description={words.instancesAndLoadNote}>
      {statistics === undefined ? (
        <div role="status" aria-label={text.common.loading} className="grid gap-8 lg:grid-cols-2">
          {[0, 1].map((chart) => (
            <Skeleton key={chart} className="h-[13.5rem] rounded-lg" />
          ))}
        </div>
      ) : (
        <div className="grid gap-5">
          <Charts points={statistics.series} />
          <SeriesTable
            label={words.instancesAndLoad}
            empty={words.noInstances}
            points={statistics.series.filter(
              (point) => point.instances > 0 || point.in_flight > 0 || point.waiting > 0,
            )}
            columns={[
              [words.chartInstances, (point) => formatMean(point.instances)],
              [words.inFlight, (point) => formatMean(point.in_flight)],
              [words.waiting, (point) => formatMean(point.waiting)],
            ]}
          />
        </div>
      )}
    </Section>
  )
}

function Charts({ points }: { points: readonly Point[] }) {
  const times = points.map(({ at }) => at)
  const highest = (read: (point: Point) => number) => formatMean(Math.max(0, ...points.map(read)))
  const toSeries = (name: string, color: number, read: (point: Point) => number) => ({
    name,
    color: `var(--series-${color})`,
    values: points.map(read),
  })
  return (
    <div className="grid gap-8 lg:grid-cols-2">
      <TimeChart
        kind="bars"
        title={words.chartInstances}
        label={words.chartInstancesLabel(highest(({ instances }) => instances))}
        times={times}
        series={[toSeries(words.chartInstances, 1, ({ instances }) => instances)]}
        formatTick={formatMean}
        format={formatMean}
      />
      <TimeChart
        kind="bars"
        title={words.chartLoad}
        label={words.chartLoadLabel(
          highest((point) => point.in_flight),
          highest((point) => point.waiting),
        )}
        times={times}
        series={[
          toSeries(words.inFlight, 2, (point) => point.in_flight),
          toSeries(words.waiting, 3, (point) => point.waiting),
        ]}
        formatTick={formatMean}
        format={formatMean}
      />
    </div>
  )
}
