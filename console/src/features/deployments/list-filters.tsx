import { UnlabeledSelect } from '../../components/field.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { useSearchDraft } from '../../components/use-search-draft.ts'
import { text } from '../../text/index.ts'
import { statuses } from './list-search.ts'
import type { ListSearch } from './list-search.ts'

const words = text.deployments

interface ListFiltersProps {
  search: ListSearch
  onChange: (changes: Pick<ListSearch, 'q' | 'status'>) => void
}

/** The search field of the list, and its filter by status. */
export function ListFilters({ search, onChange }: ListFiltersProps) {
  const [draft, setDraft] = useSearchDraft(search.q ?? '', (q) => onChange({ q: q.trim() || undefined }))
  return (
    <search className="flex flex-wrap items-center gap-2">
      <SearchInput label={words.search} value={draft} onChange={setDraft} />
      <UnlabeledSelect
        aria-label={words.status}
        value={search.status ?? ''}
        onChange={({ target }) => onChange({ status: statuses.find((status) => status === target.value) })}
        className="max-w-full min-w-0 flex-1 basis-32 sm:w-40 sm:flex-none sm:basis-auto"
      >
        <option value="">{words.anyStatus}</option>
        {statuses.map((status) => (
          <option key={status} value={status}>
            {words.statuses[status]}
          </option>
        ))}
      </UnlabeledSelect>
    </search>
  )
}
