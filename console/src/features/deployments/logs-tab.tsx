import { ArrowDownToLine, Copy, Pause, Play, WrapText } from 'lucide-react'
import { useDeferredValue, useLayoutEffect, useRef, useState, memo } from 'react'
import type { ReactNode, RefObject } from 'react'
import { classNames } from '../../class-names.ts'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { copyText } from '../../components/copy-text.ts'
import { UnlabeledInput } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { formatNumber, formatClock } from '../../format.ts'
import { text } from '../../text/index.ts'
import { InstanceFilter } from './instance-filter.tsx'
import { toText } from './log-lines.ts'
import type { NumberedLine } from './log-lines.ts'
import { useLog } from './use-log.ts'

const words = text.engineLog
/** Distance in pixels from the end within which the view keeps following the log. */
const nearEnd = 24

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

/** The engine's log, followed live. */
export function LogsTab({ deployment }: { deployment: Deployment }) {
  const { isLoading, error, live, disconnected, retry, ...log } = useLog(deployment)
  // Deferred, so that a fast log does not delay input.
  const lines = useDeferredValue(log.lines)
  // The lines at the moment of pausing; null while following.
  const [paused, setPaused] = useState<NumberedLine[] | null>(null)
  const [follow, setFollow] = useState(true)
  const [wrap, setWrap] = useState(true)
  const [filter, setFilter] = useState('')
  const [instance, setInstance] = useState<string | null>(null)
  const wanted = useDeferredValue(filter.trim().toLowerCase())
  const box = useRef<HTMLDivElement>(null)

  const known = paused ?? lines
  const lineCount = words.lineCount(known.length, formatNumber(known.length))
  const isFiltered = wanted !== '' || instance !== null
  const shown = isFiltered
    ? known.filter(
        (each) => each.line.toLowerCase().includes(wanted) && (instance ?? each.instance) === each.instance,
      )
    : known
  const last = lines.at(-1)?.number ?? -1
  const unseen = paused === null ? 0 : last - (paused.at(-1)?.number ?? -1)

  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight
  })

  if (error) return <ErrorState error={error} onRetry={retry} />
  return (
    <Section flush>
      <div className="flex flex-wrap items-center gap-2 border-b px-3 py-2">
        <UnlabeledInput
          type="search"
          aria-label={words.filterLines}
          placeholder={words.filterLines}
          value={filter}
          onChange={({ target }) => setFilter(target.value)}
          className="w-full sm:w-64"
        />
        <InstanceFilter deployment={deployment} lines={known} value={instance} onChange={setInstance} />
        <span className="tabular px-1 text-[0.8125rem] text-muted">
          {!isFiltered ? lineCount : words.filteredOf(formatNumber(shown.length), lineCount)}
        </span>
        <div className="ml-auto flex flex-wrap gap-1">
          {live && (
            <FollowButtons
              follow={follow}
              onFollow={setFollow}
              paused={paused !== null}
              onPause={(pause) => setPaused(pause ? lines : null)}
            />
          )}
          <Toggle pressed={wrap} onPress={() => setWrap(!wrap)}>
            <WrapText aria-hidden />
            {words.wrap}
          </Toggle>
          <CopyLogButton lines={shown} />
        </div>
      </div>
      {disconnected && (
        <p role="status" className="border-b bg-warn-soft px-4 py-2 text-[0.8125rem] text-warn">
          {words.reconnecting}
        </p>
      )}
      {isLoading ? (
        <SkeletonRows count={8} />
      ) : (
        <LogView
          ref={box}
          lines={shown}
          wrap={wrap}
          placeholder={known.length > 0 ? words.noMatch : live ? words.noLines : words.noLinesEnded}
          onScroll={({ scrollHeight, scrollTop, clientHeight }) => {
            const atEnd = scrollHeight - scrollTop - clientHeight < nearEnd
            if (live && atEnd !== follow) setFollow(atEnd)
          }}
        />
      )}
      {unseen > 0 && (
        <div className="flex justify-center border-t px-4 py-2">
          <Button size="small" onClick={() => setPaused(null)}>
            {words.newLines(unseen)}
          </Button>
        </div>
      )}
    </Section>
  )
}

interface LogViewProps {
  ref: RefObject<HTMLDivElement | null>
  lines: NumberedLine[]
  wrap: boolean
  /** Shown for an empty log. */
  placeholder: string
  onScroll: (box: HTMLElement) => void
}

/** The lines of a log in a scrolling box. Screen readers do not announce new lines. */
function LogView({ ref, lines, wrap, placeholder, onScroll }: LogViewProps) {
  return (
    <div
      ref={ref}
      role="log"
      aria-live="off"
      aria-label={text.engineLog.logsLabel}
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

interface FollowButtonsProps {
  follow: boolean
  onFollow: (follow: boolean) => void
  paused: boolean
  onPause: (pause: boolean) => void
}

/** Whether the view scrolls with a live log, and whether it shows new lines. */
function FollowButtons({ follow, onFollow, paused, onPause }: FollowButtonsProps) {
  return (
    <>
      <Toggle pressed={follow} onPress={() => onFollow(!follow)} title={words.followHint}>
        <ArrowDownToLine aria-hidden />
        {words.follow}
      </Toggle>
      <Button variant="quiet" size="small" onClick={() => onPause(!paused)}>
        {paused ? <Play aria-hidden /> : <Pause aria-hidden />}
        {paused ? words.resume : words.pause}
      </Button>
    </>
  )
}

function CopyLogButton({ lines }: { lines: NumberedLine[] }) {
  const toasts = useToasts()
  const copy = async () => {
    try {
      await copyText(toText(lines))
      toasts.success(words.copiedLog)
    } catch (failure) {
      toasts.error(failure)
    }
  }
  return (
    <Button variant="quiet" size="small" disabled={lines.length === 0} onClick={() => void copy()}>
      <Copy aria-hidden />
      {words.copyLog}
    </Button>
  )
}

interface ToggleProps {
  pressed: boolean
  onPress: () => void
  title?: string
  children: ReactNode
}

function Toggle({ pressed, onPress, title, children }: ToggleProps) {
  return (
    <Button
      variant="quiet"
      size="small"
      aria-pressed={pressed}
      title={title}
      onClick={onPress}
      className="aria-pressed:bg-accent-soft aria-pressed:text-accent"
    >
      {children}
    </Button>
  )
}
