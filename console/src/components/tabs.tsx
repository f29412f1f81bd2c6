import { Tabs as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

interface TabsProps<Value extends string> {
  value: Value
  onValueChange: (value: Value) => void
  /** The accessible name. */
  label: string
  tabs: { value: Value; label: ReactNode; content: ReactNode }[]
}

// The line is a shadow, because a border under the active tab scrolls. On a phone the list scrolls sideways.
const list =
  'flex gap-1 overflow-x-auto overflow-y-hidden shadow-[inset_0_-1px_var(--line)] [scrollbar-width:none]'

/** Tabs with one visible panel; arrow keys switch between tabs. */
export function Tabs<Value extends string>({ value, onValueChange, label, tabs }: TabsProps<Value>) {
  return (
    <Primitive.Root
      value={value}
      onValueChange={(next) => onValueChange(next as Value)}
      className="grid min-w-0 gap-5"
    >
      <Primitive.List aria-label={label} className={list}>
        {tabs.map((tab) => (
          <Primitive.Trigger
            key={tab.value}
            value={tab.value}
            className="border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-muted hover:text-ink focus-visible:-outline-offset-2 data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
          </Primitive.Trigger>
        ))}
      </Primitive.List>
      {tabs.map((tab) => (
        <Primitive.Content key={tab.value} value={tab.value} className="min-w-0">
          {tab.content}
        </Primitive.Content>
      ))}
    </Primitive.Root>
  )
}
