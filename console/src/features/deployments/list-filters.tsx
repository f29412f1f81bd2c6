import { UnlabeledSelect } from '../../components/field.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { useSearchDraft } from '../../components/use-search-draft.ts'
import { text } from '../../text/index.ts'
import { classNames } from '../../class-names.ts'
import type { DeploymentPage } from '../../contract.ts'
import { formatNumber } from '../../format.ts'
import { sorts, statuses } from './list-search.ts'
import type { ListSearch } from './list-search.ts'
import { OwnerFilter } from './owner-filter.tsx'

const words = text.deployments

interface ListFiltersProps {
  search: ListSearch
  page: DeploymentPage
  onChange: (changes: Pick<ListSearch, 'q' | 'status' | 'owner' | 'sort'>) => void
}

/** The search field of the list, its order, and its filter by status. */
export function ListFilters({ search, page: { counts = {}, items }, onChange }: ListFiltersProps) {
  const [draft, setDraft] = useSearchDraft(search.q ?? '', (q) => onChange({ q: q.trim() || undefined }))
  return (
    <search className="flex flex-wrap items-center gap-2">
      <SearchInput label={words.search} value={draft} onChange={setDraft} />
      <UnlabeledSelect
        aria-label={text.deploymentList.sort}
        value={search.sort ?? ''}
        onChange={({ target }) => onChange({ sort: sorts.find((sort) => sort === target.value) })}
        className="max-w-full min-w-0 flex-1 basis-32 sm:w-40 sm:flex-none sm:basis-auto"
      >
        <option value="">{text.deploymentList.sorts.newest}</option>
        {sorts.map((sort) => (
          <option key={sort} value={sort}>
            {text.deploymentList.sorts[sort]}
          </option>
        ))}
      </UnlabeledSelect>
      {search.whose !== 'own' && (
        <OwnerFilter owner={search.owner} deployments={items} onChange={(owner) => onChange({ owner })} />
      )}
      <div role="group" aria-label={words.status} className="flex flex-wrap gap-1.5">
        {statuses
          .filter((status) => counts[status] || status === search.status)
          .map((status) => (
            <button
              key={status}
              type="button"
              aria-pressed={status === search.status}
              onClick={() => onChange({ status: status === search.status ? undefined : status })}
              className={classNames(
                'h-7 rounded-full border px-2.5 text-[0.8125rem] hover:bg-subtle',
                status === search.status && 'border-accent bg-accent-soft text-accent',
              )}
            >
              {words.statuses[status]} <span className="tabular">{formatNumber(counts[status] ?? 0)}</span>
            </button>
          ))}
      </div>
    </search>
  )
}
