import { Library, SearchX } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

const list = text.catalogList

/** Why the list has no model: the filters exclude all, or the catalog is empty. */
export function NoModel({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (!isFiltered) {
    return (
      <EmptyState icon={<Library />} title={list.emptyTitle}>
        {list.empty}
      </EmptyState>
    )
  }
  return (
    <EmptyState
      icon={<SearchX />}
      title={list.noneTitle}
      action={<Button onClick={onClear}>{list.clearFilters}</Button>}
    >
      {list.none}
    </EmptyState>
  )
}
