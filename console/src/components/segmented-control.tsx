import { ToggleGroup } from 'radix-ui'
import type { ReactNode } from 'react'

interface SegmentedControlProps<Value extends string> {
  value: Value
  onValueChange: (value: Value) => void
  label: string
  options: { value: Value; label: ReactNode }[]
}

/** A segmented control for two to five short options. */
export function SegmentedControl<Value extends string>({
  value,
  onValueChange,
  label,
  options,
}: SegmentedControlProps<Value>) {
  return (
    <ToggleGroup.Root
      type="single"
      value={value}
      // Radix reports an empty value when the selected option is clicked again.
      onValueChange={(next) => next && onValueChange(next as Value)}
      aria-label={label}
      className="inline-flex rounded-md border bg-subtle p-0.5"
    >
      {options.map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          className="h-7 rounded px-2.5 text-[0.8125rem] font-medium whitespace-nowrap text-muted hover:text-ink data-[state=on]:bg-surface data-[state=on]:text-ink data-[state=on]:shadow-sm"
        >
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}
