import { useId } from 'react'
import type { ComponentProps, ReactNode } from 'react'
import { classNames } from '../class-names.ts'

interface FieldProps {
  label: ReactNode
  hint?: ReactNode
  error?: string | undefined
}

/** A ref that focuses the first field of a page or step, or what is there instead, when it appears. */
export const focusField = (field: HTMLElement | null) => field?.focus()

/** Connects a control with its label, hint and error for screen readers. */
function useField({ label, hint, error }: FieldProps) {
  const id = useId()
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined
  const attributes = { id, 'aria-describedby': describedBy, 'aria-invalid': error ? true : undefined }
  const wrap = (child: ReactNode) => (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {child}
      {hint && (
        <p id={`${id}-hint`} className="text-[0.8125rem] text-muted">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-[0.8125rem] text-bad">
          {error}
        </p>
      )}
    </div>
  )
  return { attributes, wrap }
}

/** A labeled one-line input. `trailing` renders inside its right end, such as a small button. */
export function TextField({
  label,
  hint,
  error,
  trailing,
  className,
  ...props
}: FieldProps & ComponentProps<'input'> & { trailing?: ReactNode }) {
  const { attributes, wrap } = useField({ label, hint, error })
  const classes = classNames('control h-9 w-full', trailing && 'pr-10', className)
  const input = <input {...attributes} className={classes} {...props} />
  if (!trailing) return wrap(input)
  return wrap(
    <div className="relative">
      {input}
      <div className="absolute inset-y-0 right-1 flex items-center">{trailing}</div>
    </div>,
  )
}

/** A labeled multi-line input. */
export function TextArea({
  label,
  hint,
  error,
  className,
  ...props
}: FieldProps & ComponentProps<'textarea'>) {
  const { attributes, wrap } = useField({ label, hint, error })
  return wrap(
    <textarea {...attributes} className={classNames('control min-h-20 w-full py-2', className)} {...props} />,
  )
}

/** A labeled native select. */
export function SelectField({
  label,
  hint,
  error,
  className,
  children,
  ...props
}: FieldProps & ComponentProps<'select'>) {
  const { attributes, wrap } = useField({ label, hint, error })
  return wrap(
    <select {...attributes} className={classNames('control h-9 w-full pr-8', className)} {...props}>
      {children}
    </select>,
  )
}

/** An input without a visible label; requires `aria-label`. */
export function UnlabeledInput({ className, ...props }: ComponentProps<'input'>) {
  return <input className={classNames('control h-9 w-full', className)} {...props} />
}

/** A native select without a visible label; requires `aria-label`. */
export function UnlabeledSelect({ className, ...props }: ComponentProps<'select'>) {
  return <select className={classNames('control h-9 pr-8', className)} {...props} />
}
