import type { ReactNode } from 'react'
import {
  Bar,
  BarChart,
  CartesianGrid,
  Line,
  LineChart,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import type { DeploymentStatistics } from '../../../../server/src/contract.ts'
import { formatCompact, formatDuration, formatHourAndMinute, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.deployment
const formatHour = (at: unknown) => formatHourAndMinute(String(at))

const axis = {
  stroke: 'var(--line-strong)',
  tick: { fill: 'var(--muted)', fontSize: 11 },
  tickLine: false,
  axisLine: false,
} as const
const margin = { top: 4, right: 4, bottom: 0, left: 0 }

/** Charts of requests, durations and tokens over time. SeriesTable has the same numbers. */
export function Charts({ statistics }: { statistics: DeploymentStatistics }) {
  const points = statistics.series.map((point) => ({
    ...point,
    succeeded: point.requests - point.errors,
  }))
  const grid = <CartesianGrid vertical={false} stroke="var(--line)" />
  const x = <XAxis dataKey="at" {...axis} tickFormatter={formatHour} minTickGap={48} />
  const tooltip = (format: (value: number) => string) => (
    <Tooltip
      isAnimationActive={false}
      cursor={{ fill: 'var(--subtle)', stroke: 'var(--line-strong)' }}
      labelFormatter={formatHour}
      formatter={(value) => (typeof value === 'number' ? format(value) : words.noValue)}
      contentStyle={{
        background: 'var(--raised)',
        border: '1px solid var(--line)',
        borderRadius: '0.5rem',
        fontSize: '0.8125rem',
      }}
      itemStyle={{ color: 'var(--ink)', padding: 0 }}
    />
  )
  const count = (name: string) => (
    <YAxis {...axis} width={44} allowDecimals={false} tickFormatter={formatCompact} name={name} />
  )
  return (
    <div className="grid gap-8 lg:grid-cols-3">
      <Chart
        title={words.chartRequests}
        label={words.chartRequestsLabel(formatNumber(statistics.requests), formatNumber(statistics.errors))}
        legend={[
          { name: words.succeeded, color: 'var(--series-1)' },
          { name: words.errors, color: 'var(--series-6)' },
        ]}
      >
        <BarChart data={points} margin={margin} accessibilityLayer={false}>
          {grid}
          {x}
          {count(words.requests)}
          {tooltip(formatNumber)}
          <Bar
            dataKey="succeeded"
            name={words.succeeded}
            stackId="all"
            fill="var(--series-1)"
            isAnimationActive={false}
          />
          <Bar
            dataKey="errors"
            name={words.errors}
            stackId="all"
            fill="var(--series-6)"
            isAnimationActive={false}
          />
        </BarChart>
      </Chart>
      <Chart
        title={words.chartDuration}
        label={words.chartDurationLabel}
        legend={[
          { name: words.p50, color: 'var(--series-1)' },
          { name: words.p95, color: 'var(--series-3)' },
        ]}
      >
        <LineChart data={points} margin={margin} accessibilityLayer={false}>
          {grid}
          {x}
          <YAxis {...axis} width={60} tickFormatter={formatDuration} />
          {tooltip(formatDuration)}
          {(['p50', 'p95'] as const).map((share, index) => (
            <Line
              key={share}
              dataKey={`duration_${share}_ms`}
              name={words[share]}
              stroke={`var(--series-${index === 0 ? 1 : 3})`}
              strokeWidth={2}
              // A point between two empty ones has no line, so draw dots.
              dot={{ r: 2, strokeWidth: 0, fill: `var(--series-${index === 0 ? 1 : 3})` }}
              isAnimationActive={false}
            />
          ))}
        </LineChart>
      </Chart>
      <Chart
        title={words.chartTokens}
        label={words.chartTokensLabel(formatNumber(statistics.output_tokens))}
        legend={[{ name: words.outputTokens, color: 'var(--series-2)' }]}
      >
        <BarChart data={points} margin={margin} accessibilityLayer={false}>
          {grid}
          {x}
          {count(words.outputTokens)}
          {tooltip(formatNumber)}
          <Bar
            dataKey="output_tokens"
            name={words.outputTokens}
            fill="var(--series-2)"
            isAnimationActive={false}
          />
        </BarChart>
      </Chart>
    </div>
  )
}

interface ChartProps {
  title: string
  /** Describes the chart to screen readers. */
  label: string
  legend: { name: string; color: string }[]
  children: ReactNode
}

function Chart({ title, label, legend, children }: ChartProps) {
  return (
    <figure className="grid min-w-0 gap-2">
      <figcaption className="flex h-5 items-center justify-between gap-4 text-[0.8125rem]">
        <span className="font-medium">{title}</span>
        <span className="flex gap-3 text-xs text-muted">
          {legend.map(({ name, color }) => (
            <span key={name} className="flex items-center gap-1.5">
              <span aria-hidden className="size-2 rounded-full" style={{ background: color }} />
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      <div role="img" aria-label={label} className="h-48">
        <ResponsiveContainer>{children}</ResponsiveContainer>
      </div>
    </figure>
  )
}
