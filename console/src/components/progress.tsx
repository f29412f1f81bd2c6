import { classNames } from '../class-names.ts'

interface ProgressProps {
  /** From 0 to 1 */
  value: number
  /** What the value is expected to become, from 0 to 1 */
  expected?: number
  tone?: 'accent' | 'warn' | 'bad'
  label: string
  className?: string
}

const tones = { accent: 'bg-accent', warn: 'bg-warn', bad: 'bg-bad' } as const

/** A progress bar; the expected part is paler. */
export function Progress({ value, expected, tone = 'accent', label, className }: ProgressProps) {
  const percent = toPercent(value)
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className={classNames('relative h-1.5 overflow-hidden rounded-full bg-subtle', className)}
    >
      {expected !== undefined && (
        <div
          className={classNames('absolute inset-y-0 left-0 rounded-full opacity-35', tones[tone])}
          style={{ width: `${toPercent(expected)}%` }}
        />
      )}
      <div
        className={classNames('relative h-full rounded-full transition-[width]', tones[tone])}
        style={{ width: `${percent}%` }}
      />
    </div>
  )
}

const toPercent = (share: number) => Math.round(Math.min(1, Math.max(0, share)) * 100)
