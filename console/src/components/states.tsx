import { CloudOff, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { classNames } from '../class-names.ts'
import { formatDelay } from '../format.ts'
import { text } from '../text/index.ts'
import { Button } from './button.tsx'

/** Says why a list or page is empty and what to do next. Use `heading="h1"` when it fills the page. */
export function EmptyState({
  icon,
  heading: Heading = 'h2',
  title,
  children,
  action,
}: {
  icon?: ReactNode
  heading?: 'h1' | 'h2'
  title: string
  children?: ReactNode
  action?: ReactNode
}) {
  return (
    <div className="grid justify-items-center gap-3 px-6 py-14 text-center">
      {icon && (
        <div className="grid size-11 place-items-center rounded-full bg-subtle text-muted [&_svg]:size-5">
          {icon}
        </div>
      )}
      <Heading {...(Heading === 'h1' && { id: 'heading' })} className="text-base font-semibold">
        {title}
      </Heading>
      {children && <div className="max-w-md text-muted">{children}</div>}
      {action}
    </div>
  )
}

/** The error state of a list or page, with a button to retry. */
export function ErrorState({
  error,
  onRetry,
  wayBack,
}: {
  error: unknown
  onRetry?: () => void
  /** A link away from a page that has failed as a whole */
  wayBack?: ReactNode
}) {
  const offline = error instanceof ApiError && error.code === 'offline'
  return (
    <div role="alert" className="grid justify-items-center gap-3 px-6 py-14 text-center">
      <div className="grid size-11 place-items-center rounded-full bg-bad-soft text-bad [&_svg]:size-5">
        {offline ? <CloudOff /> : <TriangleAlert />}
      </div>
      <p className="max-w-md">{describeError(error)}</p>
      {error instanceof ApiError && error.requestId && (
        <p className="font-mono text-xs text-muted">{text.errors.requestId(error.requestId)}</p>
      )}
      <div className="flex flex-wrap justify-center gap-2">
        {onRetry && <Button onClick={onRetry}>{text.common.tryAgain}</Button>}
        {wayBack}
      </div>
    </div>
  )
}

/** An error message next to a form or button; renders nothing without an error. */
export function ErrorMessage({ error, className }: { error: unknown; className?: string }) {
  if (!error) return null
  return (
    <p
      role="alert"
      className={classNames('rounded-md bg-bad-soft px-3 py-2 wrap-anywhere text-bad', className)}
    >
      {describeError(error)}
    </p>
  )
}

/** A highlighted message with an optional action. */
export function Notice({
  tone = 'busy',
  title,
  children,
  action,
}: {
  tone?: 'busy' | 'warn' | 'bad' | 'good'
  title?: ReactNode
  children?: ReactNode
  action?: ReactNode
}) {
  const toneClasses = {
    busy: 'bg-busy-soft text-busy',
    warn: 'bg-warn-soft text-warn',
    bad: 'bg-bad-soft text-bad',
    good: 'bg-good-soft text-good',
  }[tone]
  return (
    <div
      className={classNames(
        'flex flex-wrap items-center justify-between gap-x-6 gap-y-2 rounded-xl px-5 py-3',
        toneClasses,
      )}
    >
      <div className="grid min-w-0 gap-0.5 wrap-anywhere">
        {title && <p className="font-semibold">{title}</p>}
        {children && <div>{children}</div>}
      </div>
      {action}
    </div>
  )
}

/** A gray bar that reserves the space of loading content. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={classNames('h-4 animate-pulse rounded bg-subtle', className)} />
}

/** Placeholder rows for a loading list or table. */
export function SkeletonRows({ count = 5 }: { count?: number }) {
  return (
    <div role="status" aria-label={text.common.loading} className="divide-y">
      {Array.from({ length: count }, (_, row) => (
        <div key={row} className="flex items-center gap-6 px-5 py-4">
          <Skeleton className="w-1/4" />
          <Skeleton className="w-1/6" />
          <Skeleton className="ml-auto w-16" />
        </div>
      ))}
    </div>
  )
}

/** The message of an error; a 429 adds when to retry. */
export function describeError(error: unknown): string {
  if (!(error instanceof ApiError)) return text.errors.unexpected(0)
  if (error.status !== 429 || error.retryAfter === null) return error.message
  const what = error.message.replace(/ Try again later\.$/, '')
  return `${what} ${text.errors.retryAfter(formatDelay(error.retryAfter))}`
}
