import type { ReactNode } from 'react'
import { classNames } from '../class-names.ts'

export type Tone = 'neutral' | 'good' | 'busy' | 'warn' | 'bad' | 'accent'

const tones: Record<Tone, string> = {
  neutral: 'bg-subtle text-muted',
  good: 'bg-good-soft text-good',
  busy: 'bg-busy-soft text-busy',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  accent: 'bg-accent-soft text-accent',
}

/** A short label in a colored pill. The label alone must carry the meaning. */
export function Badge({
  tone = 'neutral',
  dot,
  children,
  className,
}: {
  tone?: Tone
  dot?: 'still' | 'pulsing'
  children: ReactNode
  className?: string
}) {
  return (
    <span
      className={classNames(
        'inline-flex h-[1.375rem] items-center gap-1.5 rounded-full px-2 text-xs font-medium whitespace-nowrap',
        tones[tone],
        className,
      )}
    >
      {dot && (
        <span
          aria-hidden
          className={classNames('size-1.5 rounded-full bg-current', dot === 'pulsing' && 'animate-pulse')}
        />
      )}
      {children}
    </span>
  )
}
