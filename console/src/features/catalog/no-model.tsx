import { Library, SearchX } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

const words = text.catalog

/** Why the list has no model: the filters exclude all, or the catalog is empty. */
export function NoModel({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (!isFiltered) {
    return (
      <EmptyState icon={<Library />} title={words.emptyTitle}>
        {words.empty}
      </EmptyState>
    )
  }
  return (
    <EmptyState
      icon={<SearchX />}
      title={words.noneTitle}
      action={<Button onClick={onClear}>{words.clearFilters}</Button>}
    >
      {words.none}
    </EmptyState>
  )
}
