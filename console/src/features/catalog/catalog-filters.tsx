import { SlidersHorizontal } from 'lucide-react'
import { useId, useState } from 'react'
import type { ReactNode } from 'react'
import { classNames } from '../../class-names.ts'
import { Button } from '../../components/button.tsx'
import { UnlabeledSelect } from '../../components/field.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { formatNumber } from '../../format.ts'
import type { CatalogSearch } from './catalog-search.ts'
import { text } from '../../text/index.ts'
import { contextLengths, sizeRanges } from './filter.ts'
import type { ContextLength, FilterOptions, SizeRange } from './filter.ts'

const words = text.catalog
const list = text.catalogList
const types = ['all', 'LLM', 'embedding', 'rerank'] as const

interface CatalogFiltersProps {
  /** The text in the search field. */
  draft: string
  onDraftChange: (draft: string) => void
  filters: CatalogSearch
  options: FilterOptions
  onChange: (changes: CatalogSearch) => void
}

/** The search field and the filters. On a small screen a button reveals the filters. */
export function CatalogFilters(props: CatalogFiltersProps) {
  const { draft, onDraftChange, filters } = props
  const [isOpen, setIsOpen] = useState(false)
  const panelId = useId()
  const set = Object.entries(filters).filter(([name, value]) => name !== 'q' && value)
  return (
    <search className="flex flex-wrap items-center gap-2">
      <SearchInput label={list.search} value={draft} onChange={onDraftChange} />
      <Button
        className="md:hidden"
        aria-expanded={isOpen}
        aria-controls={panelId}
        onClick={() => setIsOpen(!isOpen)}
      >
        <SlidersHorizontal aria-hidden />
        {set.length > 0 ? list.filtersSet(formatNumber(set.length)) : list.filters}
      </Button>
      <div
        id={panelId}
        className={classNames('w-full flex-wrap items-center gap-2 md:contents', isOpen ? 'flex' : 'hidden')}
      >
        <Filters {...props} />
      </div>
    </search>
  )
}

function Filters({ filters, options, onChange }: CatalogFiltersProps) {
  return (
    <>
      <SegmentedControl
        label={list.type}
        value={types.find((type) => type === filters.type) ?? 'all'}
        onValueChange={(type) => onChange({ type: type === 'all' ? undefined : type })}
        options={types.map((type) => ({ value: type, label: words.types[type] }))}
      />
      <label className="ml-auto flex h-9 items-center gap-2 whitespace-nowrap">
        <input
          type="checkbox"
          className="size-4 accent-accent"
          checked={filters.fits === 'yes'}
          onChange={({ target }) => onChange({ fits: target.checked ? 'yes' : undefined })}
        />
        {list.fitsHardware}
      </label>
      <div className="flex w-full flex-wrap gap-2">
        <FilterSelect
          label={words.provider}
          value={filters.provider}
          // Families belong to one provider.
          onChange={(provider) => onChange({ provider, family: undefined })}
        >
          <option value="">{list.anyProvider}</option>
          {options.providers.map((provider) => (
            <option key={provider}>{provider}</option>
          ))}
        </FilterSelect>
        <FilterSelect label={words.family} value={filters.family} onChange={(family) => onChange({ family })}>
          <option value="">{list.anyFamily}</option>
          {options.families.map((family) => (
            <option key={family}>{family}</option>
          ))}
        </FilterSelect>
        <FilterSelect label={words.size} value={filters.size} onChange={(size) => onChange({ size })}>
          <option value="">{list.anySize}</option>
          {(Object.keys(sizeRanges) as SizeRange[]).map((range) => (
            <option key={range} value={range}>
              {list.sizeRanges[range]}
            </option>
          ))}
        </FilterSelect>
        <FilterSelect
          label={words.context}
          value={filters.context}
          onChange={(context) => onChange({ context })}
        >
          <option value="">{list.anyContext}</option>
          {(Object.keys(contextLengths) as ContextLength[]).map((length) => (
            <option key={length} value={length}>
              {list.contextLengths[length]}
            </option>
          ))}
        </FilterSelect>
        <FilterSelect
          label={words.license}
          value={filters.license}
          onChange={(license) => onChange({ license })}
        >
          <option value="">{list.anyLicense}</option>
          {options.licenses.map((license) => (
            <option key={license}>{license}</option>
          ))}
        </FilterSelect>
      </div>
    </>
  )
}

interface FilterSelectProps {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
  children: ReactNode
}

function FilterSelect({ label, value, onChange, children }: FilterSelectProps) {
  return (
    <UnlabeledSelect
      aria-label={label}
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value || undefined)}
      className="min-w-0 flex-1 basis-32"
    >
      {children}
    </UnlabeledSelect>
  )
}
