import { useId } from 'react'
import type { ReactNode } from 'react'

interface SwitchFieldProps {
  label: ReactNode
  checked: boolean
  onChange: (checked: boolean) => void
  /** What it means */
  children?: ReactNode
}

/** A labeled switch. */
export function SwitchField({ label, checked, onChange, children }: SwitchFieldProps) {
  const id = useId()
  return (
    <div className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3">
      <span className="relative mt-0.5 inline-flex h-5 w-9 items-center rounded-full bg-line-strong has-checked:bg-accent has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent">
        <input
          id={id}
          type="checkbox"
          role="switch"
          aria-checked={checked}
          aria-describedby={children ? `${id}-hint` : undefined}
          className="peer absolute inset-0 cursor-pointer appearance-none rounded-full focus-visible:outline-none"
          checked={checked}
          onChange={({ target }) => onChange(target.checked)}
        />
        <span
          aria-hidden
          className="pointer-events-none ml-0.5 size-4 rounded-full bg-surface transition-transform peer-checked:translate-x-4"
        />
      </span>
      <label htmlFor={id} className="cursor-pointer font-medium">
        {label}
      </label>
      {children && (
        <p id={`${id}-hint`} className="col-start-2 text-[0.8125rem] text-muted">
          {children}
        </p>
      )}
    </div>
  )
}
