import type { ComponentProps } from 'react'
import { classNames } from '../class-names.ts'
import { Slot } from './slot.tsx'
import { Spinner } from './spinner.tsx'

const variants = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  secondary: 'border bg-surface text-ink hover:bg-subtle',
  quiet: 'text-muted hover:bg-subtle hover:text-ink',
  danger: 'bg-bad-strong text-white hover:brightness-110',
} as const

const sizes = {
  small: 'h-8 px-2.5 text-[0.8125rem]',
  medium: 'h-9 px-3.5',
  icon: 'size-9 justify-center',
  tiny: 'size-7 justify-center',
} as const

interface ButtonProps extends ComponentProps<'button'> {
  variant?: keyof typeof variants
  size?: keyof typeof sizes
  /** Shows a spinner and disables the button. Any value makes a double click count once. */
  busy?: boolean | undefined
  /** Styles the child, such as a link, as a button. */
  asChild?: boolean
}

/** A button with `type="button"` by default. */
export function Button({
  variant = 'secondary',
  size = 'medium',
  busy,
  asChild,
  className,
  children,
  disabled,
  onClick,
  ...props
}: ButtonProps) {
  const classes = classNames(
    'inline-flex shrink-0 items-center justify-center gap-2 rounded-md font-medium whitespace-nowrap transition-colors',
    'disabled:opacity-55 [&_svg]:size-4 [&_svg]:shrink-0',
    variants[variant],
    sizes[size],
    className,
  )
  if (asChild) {
    return (
      <Slot className={classes} onClick={onClick} {...props}>
        {children}
      </Slot>
    )
  }
  return (
    <button
      type="button"
      className={classes}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      onClick={(event) => {
        // The second click of a double click arrives before `busy` disables the button.
        if (busy !== undefined && event.detail > 1) event.preventDefault()
        else onClick?.(event)
      }}
      {...props}
    >
      {busy && <Spinner />}
      {children}
    </button>
  )
}
