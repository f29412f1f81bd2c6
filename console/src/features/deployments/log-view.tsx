import { memo } from 'react'
import type { RefObject } from 'react'
import { classNames } from '../../class-names.ts'
import { formatClock } from '../../format.ts'
import { text } from '../../text/index.ts'
import type { NumberedLine } from './log-lines.ts'

interface LogViewProps {
  ref: RefObject<HTMLDivElement | null>
  lines: NumberedLine[]
  wrap: boolean
  /** Shown for an empty log. */
  placeholder: string
  onScroll: (box: HTMLElement) => void
}

/** The lines of a log in a scrolling box. Screen readers do not announce new lines. */
export function LogView({ ref, lines, wrap, placeholder, onScroll }: LogViewProps) {
  return (
    <div
      ref={ref}
      role="log"
      aria-live="off"
      aria-label={text.deployment.logsLabel}
      tabIndex={0}
      onScroll={({ currentTarget }) => onScroll(currentTarget)}
      className="h-[max(20rem,calc(100dvh-22rem))] overflow-auto overscroll-contain py-2 font-mono text-[0.8125rem] leading-relaxed focus-visible:-outline-offset-2"
    >
      {lines.length === 0 ? (
        <p className="px-4 py-2 font-sans text-muted">{placeholder}</p>
      ) : (
        <div className={classNames(!wrap && 'w-max min-w-full')}>
          {lines.map((line) => (
            <Line key={line.number} line={line} wrap={wrap} />
          ))}
        </div>
      )}
    </div>
  )
}

const Line = memo(function Line({ line: { at, line }, wrap }: { line: NumberedLine; wrap: boolean }) {
  return (
    <div className="flex items-baseline gap-2 px-4 hover:bg-subtle sm:gap-4">
      <time
        dateTime={at}
        className="tabular shrink-0 text-[0.6875rem] text-muted select-none sm:text-[0.8125rem]"
      >
        {formatClock(at)}
      </time>
      <span className={wrap ? 'min-w-0 break-words whitespace-pre-wrap' : 'whitespace-pre'}>{line}</span>
    </div>
  )
})
