import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Suspense, useDeferredValue, useMemo, useState, useEffect } from 'react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useSearchDraft } from '../../components/use-search-draft.ts'
import { lazyPart, loadWhenIdle } from '../../routing/lazy-part.ts'
import { UnlabeledSelect } from '../../components/field.tsx'
import { catalogSorts } from './catalog-search.ts'
import type { CatalogSearch } from './catalog-search.ts'
import { text } from '../../text/index.ts'
import { CatalogFilters } from './catalog-filters.tsx'
import { listFilterOptions, listEntries, readFilters } from './filter.ts'
import { ModelList, ModelListSkeleton } from './model-list.tsx'
import { modelsQuery, placementsQuery, weightsQuery } from '../../domain/models/queries.ts'
import { findModelsHere } from '../../domain/models/weights.ts'

const AddModelDialog = lazyPart(() =>
  import('./own-models/add-model-dialog.tsx').then((module) => module.AddModelDialog),
)
const PlacementsError = lazyPart(() =>
  import('./placements-error.tsx').then((module) => module.PlacementsError),
)
const NoModel = lazyPart(() => import('./no-model.tsx').then((module) => module.NoModel))

const list = text.catalogList
const route = getRouteApi('/app/catalog')

/** The list has been on the page before, so that a person may come back to a place in it. */
let wasShown = false

/** The deployable models with search and filters. */
export function CatalogPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const models = useQuery(modelsQuery)
  const placements = useQuery(placementsQuery)
  // The list shows without the weights, and marks the models of those that are here.
  const [isIdle, setIdle] = useState(false)
  const { data: weights } = useQuery({ ...weightsQuery, enabled: isIdle && placements.data !== undefined })
  const here = useMemo(
    () => findModelsHere(weights?.items ?? [], placements.data?.items ?? []),
    [weights, placements.data],
  )
  const [isReturn] = useState(wasShown)
  useEffect(() => {
    wasShown = true
    loadWhenIdle(async () => setIdle(true))
  }, [])
  const mayAdd = useCan()('createDeployments')
  const [isAdding, setIsAdding] = useState(false)

  const change = (changes: CatalogSearch) =>
    void navigate({
      search: (previous) => ({ ...previous, ...changes }),
      replace: true,
      resetScroll: false,
    })
  const [draft, setDraft] = useSearchDraft(search.q ?? '', (q) => change({ q: q || undefined }))
  const deferredDraft = useDeferredValue(draft)

  const known = models.data ?? []
  const { sort } = search
  const filters = { ...readFilters(search, known), q: deferredDraft }
  const clear = () => {
    setDraft('')
    void navigate({ search: { sort: search.sort }, replace: true, resetScroll: false })
  }
  const isFiltered = Object.values({ ...filters, q: draft }).some(Boolean)
  const isWaiting = !models.data || (filters.fits === 'yes' && placements.isPending)
  const entries = listEntries(known, placements.data?.items, { ...filters, sort })
  return (
    <Page
      {...text.pages.catalog}
      actions={mayAdd && <Button onClick={() => setIsAdding(true)}>{list.add}</Button>}
    >
      <Suspense>{isAdding && <AddModelDialog onClose={() => setIsAdding(false)} />}</Suspense>
      <div className="grid gap-3">
        <CatalogFilters
          draft={draft}
          onDraftChange={setDraft}
          filters={filters}
          options={listFilterOptions(filters, known)}
          onChange={change}
        />
        <div className="flex h-7 items-center justify-between gap-4 text-[0.8125rem] text-muted">
          <p role="status">{!isWaiting && list.count(entries.length, known.length)}</p>
          <div className="flex items-center gap-1">
            {isFiltered && (
              <Button variant="quiet" size="small" className="h-7!" onClick={clear}>
                {list.clearFilters}
              </Button>
            )}
            <UnlabeledSelect
              aria-label={list.sort}
              value={sort ?? ''}
              onChange={({ target }) => change({ sort: catalogSorts.find((one) => one === target.value) })}
              className="h-7! border-transparent! bg-transparent! py-0 text-[0.8125rem]"
            >
              <option value="">{list.sorts.catalog}</option>
              {catalogSorts.map((one) => (
                <option key={one} value={one}>
                  {list.sorts[one]}
                </option>
              ))}
            </UnlabeledSelect>
          </div>
        </div>
        <Suspense>
          {placements.isError && !placements.data && <PlacementsError placements={placements} />}
        </Suspense>
        <Section flush>
          <Loaded
            query={{ ...models, data: isWaiting ? undefined : models.data }}
            loading={<ModelListSkeleton />}
          >
            {() =>
              entries.length > 0 ? (
                <ModelList
                  entries={entries}
                  here={here}
                  currency={placements.data?.currency}
                  arePlacementsLoading={placements.isPending}
                  isReturn={isReturn}
                />
              ) : (
                <Suspense fallback={<ModelListSkeleton />}>
                  <NoModel isFiltered={known.length > 0} onClear={clear} />
                </Suspense>
              )
            }
          </Loaded>
        </Section>
      </div>
    </Page>
  )
}
