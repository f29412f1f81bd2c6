import { useState } from 'react'
import type { KeyboardEvent, PointerEvent, ReactNode } from 'react'
import { classNames } from '../class-names.ts'
import { findFirstLabel, listTicks } from './chart-ticks.ts'

export interface ChartSeries {
  name: string
  /** A CSS color */
  color: string
  /** One value per place; null leaves a gap in a line. */
  values: readonly (number | null)[]
}

interface ChartProps {
  /** Bars are stacked. */
  kind: 'bars' | 'lines'
  /** The accessible name */
  label: string
  /** The labels below the chart, one per value of each series */
  places: readonly string[]
  /** The times of the places, which then have labels at round times */
  times?: readonly string[]
  series: readonly ChartSeries[]
  format: (value: number) => string
  /** Whether the values are counts, so that the axis has only whole numbers */
  whole?: boolean
  /** The numbers at a place, shown next to the pointer or after an arrow key */
  renderCard: (place: number) => ReactNode
  className?: string
}

/** Bars or lines over time. Pointing or the arrow keys show the numbers of one place. */
export function Chart({
  kind,
  label,
  places,
  times = [],
  series,
  format,
  whole,
  renderCard,
  className,
}: ChartProps) {
  const { place, applicationProps, plotProps } = usePlace(places.length)
  const values = places.map((_, index) => series.map((one) => one.values[index] ?? 0))
  const highest = values.map((own) => (kind === 'bars' ? own.reduce((a, b) => a + b, 0) : Math.max(...own)))
  const ticks = listTicks(Math.max(0, ...highest), whole)
  const top = ticks.at(-1) ?? 1
  return (
    // Screen readers leave the arrow keys to an application.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      role="application"
      aria-label={label}
      tabIndex={0}
      className={classNames('grid grid-cols-[auto_minmax(0,1fr)] grid-rows-[minmax(0,1fr)_auto]', className)}
      {...applicationProps}
    >
      <div aria-hidden className="tabular flex flex-col-reverse justify-between pr-2 text-xs text-muted">
        {ticks.map((tick) => (
          <span key={tick} className="flex h-0 items-center justify-end">
            {format(tick)}
          </span>
        ))}
      </div>
      <div className="relative border-b" {...plotProps}>
        <div aria-hidden className="absolute inset-0 flex flex-col justify-between">
          {ticks.map((tick) => (
            <span key={tick} className="h-px bg-line" />
          ))}
        </div>
        {place !== null && (
          <div
            aria-hidden
            className="absolute inset-y-0 bg-subtle"
            style={{ left: `${(place / places.length) * 100}%`, width: `${100 / places.length}%` }}
          />
        )}
        {kind === 'bars' ? (
          <Bars series={series} count={places.length} top={top} />
        ) : (
          <Lines series={series} count={places.length} top={top} />
        )}
        {place !== null && (
          <Card place={place} count={places.length}>
            {renderCard(place)}
          </Card>
        )}
      </div>
      <PlaceLabels places={places} times={times} />
    </div>
  )
}

/** The place that a person chose with the pointer or the arrow keys; null without one. */
function usePlace(count: number) {
  const [place, setPlace] = useState<number | null>(null)
  const clamp = (index: number) => Math.min(count - 1, Math.max(0, index))
  const leave = () => setPlace(null)
  const onPointer = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    setPlace(clamp(Math.floor(((clientX - left) / width) * count)))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const from = place ?? count
    const next = {
      ArrowLeft: from - 1,
      ArrowRight: place === null ? 0 : from + 1,
      Home: 0,
      End: count - 1,
    }[event.key]
    if (next === undefined) return
    event.preventDefault()
    setPlace(clamp(next))
  }
  return {
    place,
    applicationProps: { onKeyDown, onBlur: leave },
    plotProps: { onPointerMove: onPointer, onPointerDown: onPointer, onPointerLeave: leave },
  }
}

/** The numbers at a place, on the side that has more room. */
function Card({ place, count, children }: { place: number; count: number; children: ReactNode }) {
  return (
    <div
      role="status"
      className="pointer-events-none absolute top-0 z-10 w-max max-w-1/2 rounded-lg border bg-raised px-3 py-2 text-[0.8125rem] shadow-lg"
      style={
        place < count / 2
          ? { left: `${((place + 1) / count) * 100}%` }
          : { right: `${100 - (place / count) * 100}%` }
      }
    >
      {children}
    </div>
  )
}

interface PlotProps {
  series: readonly ChartSeries[]
  count: number
  /** The highest number of the axis */
  top: number
}

function Bars({ series, count, top }: PlotProps) {
  return (
    <div aria-hidden className="absolute inset-0 flex">
      {Array.from({ length: count }, (_, place) => (
        <div key={place} className="flex min-w-0 flex-1 justify-center">
          <div className="flex h-full w-4/5 max-w-9 flex-col-reverse">
            {series.map(({ name, color, values }) => {
              const value = values[place] ?? 0
              return (
                value > 0 && (
                  <div key={name} style={{ background: color, height: `${(value / top) * 100}%` }} />
                )
              )
            })}
          </div>
        </div>
      ))}
    </div>
  )
}

function Lines({ series, count, top }: PlotProps) {
  return (
    <svg
      aria-hidden
      className="absolute inset-0 size-full overflow-visible"
      viewBox={`0 0 ${count} 1`}
      preserveAspectRatio="none"
    >
      {series.map(({ name, color, values }) => (
        <g key={name} fill="none" stroke={color} strokeLinecap="round" strokeLinejoin="round">
          <path d={drawLine(values, top)} strokeWidth={2} vectorEffect="non-scaling-stroke" />
          {/* A value between two gaps has no line, so draw dots: lines without a length. */}
          <path d={drawDots(values, top)} strokeWidth={4} vectorEffect="non-scaling-stroke" />
        </g>
      ))}
    </svg>
  )
}

const toPoint = (value: number, place: number, top: number) => `${place + 0.5} ${1 - value / top}`

function drawLine(values: readonly (number | null)[], top: number): string {
  return values
    .map((value, place) => {
      if (value === null) return ''
      return `${(values[place - 1] ?? null) === null ? 'M' : 'L'}${toPoint(value, place, top)}`
    })
    .join('')
}

function drawDots(values: readonly (number | null)[], top: number): string {
  return values.map((value, place) => (value === null ? '' : `M${toPoint(value, place, top)}h0`)).join('')
}

/** Six labels need 26 rem, as for "10:25 PM", and every second one 14 rem; else the first and the middle. */
function fitLabel(order: number): string {
  if (order % 2 === 1) return order === 3 ? '@min-[14rem]:@max-[26rem]:hidden' : '@max-[26rem]:hidden'
  return order === 0 ? '' : '@max-[14rem]:hidden'
}

/** At most six labels below the chart. */
function PlaceLabels({ places, times }: { places: readonly string[]; times: readonly string[] }) {
  const step = Math.ceil(places.length / 6)
  const first = findFirstLabel(times, step)
  return (
    <div aria-hidden className="@container relative col-start-2 h-6 text-xs text-muted">
      {places.map(
        (label, index) =>
          index % step === first && (
            <span
              key={index}
              className={classNames(
                'absolute top-1.5 -translate-x-1/2 whitespace-nowrap',
                fitLabel((index - first) / step),
              )}
              style={{ left: `${((index + 0.5) / places.length) * 100}%` }}
            >
              {label}
            </span>
          ),
      )}
    </div>
  )
}
