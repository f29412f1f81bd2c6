import { useId } from 'react'
import type { ReactNode } from 'react'

interface SegmentedControlProps<Value extends string> {
  value: Value
  onValueChange: (value: Value) => void
  label: string
  options: { value: Value; label: ReactNode }[]
}

/** A segmented control for two to five short options: radio buttons in a row. */
export function SegmentedControl<Value extends string>({
  value,
  onValueChange,
  label,
  options,
}: SegmentedControlProps<Value>) {
  const name = useId()
  return (
    <div
      role="radiogroup"
      aria-label={label}
      className="inline-flex max-w-full flex-wrap rounded-md border bg-subtle p-0.5"
    >
      {options.map((option) => (
        <label
          key={option.value}
          className="relative flex h-7 min-w-0 cursor-pointer items-center rounded px-2.5 text-[0.8125rem] font-medium whitespace-nowrap text-muted hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-sm has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={name}
            className="absolute inset-0 cursor-pointer appearance-none rounded focus-visible:outline-none"
            checked={option.value === value}
            onChange={() => onValueChange(option.value)}
          />
          <span className="truncate">{option.label}</span>
        </label>
      ))}
    </div>
  )
}
