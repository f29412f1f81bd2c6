import { useId } from 'react'
import type { KeyboardEvent, ReactNode } from 'react'

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

const trigger =
  'border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-muted hover:text-ink focus-visible:-outline-offset-2 aria-selected:border-accent aria-selected:text-ink'

/** Tabs with one visible panel; arrow keys, Home and End switch between tabs, as WAI-ARIA describes it. */
export function Tabs<Value extends string>({ value, onValueChange, label, tabs }: TabsProps<Value>) {
  const id = useId()
  const place = tabs.findIndex((tab) => tab.value === value)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const places = new Map(Object.entries({ ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: -1 }))
    const next = places.get(event.key)
    const tab = next === undefined ? undefined : tabs.at(next % tabs.length)
    if (!tab) return
    event.preventDefault()
    onValueChange(tab.value)
    document.getElementById(`${id}-${tab.value}`)?.focus()
  }
  return (
    <div className="grid min-w-0 gap-5">
      <div role="tablist" aria-label={label} className={list}>
        {tabs.map((tab) => (
          <button
            key={tab.value}
            type="button"
            role="tab"
            id={`${id}-${tab.value}`}
            aria-selected={tab.value === value}
            aria-controls={`${id}-panel`}
            tabIndex={tab.value === value ? 0 : -1}
            ref={tab.value === value ? showTab : undefined}
            className={trigger}
            onClick={() => onValueChange(tab.value)}
            onKeyDown={onKeyDown}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div
        key={value}
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${value}`}
        tabIndex={0}
        className="min-w-0"
      >
        {tabs[place]?.content}
      </div>
    </div>
  )
}

/** Scrolls the list to the active tab, which a phone may not have in view. */
function showTab(tab: HTMLElement | null) {
  const tabs = tab?.parentElement
  if (tabs) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - 48
}
