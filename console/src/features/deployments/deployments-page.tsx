import { useQuery, queryOptions } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { callApi } from '../../api/client.ts'
import { useCan, useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { SkeletonRows } from '../../components/states.tsx'
import { pageSize, deploymentsQuery } from '../../domain/deployments/queries.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import type { Selection } from './bulk/select-box.tsx'
import { DeploymentsTable } from './deployments-table.tsx'
import { BulkBar, ListFilters, ListStrip } from './lazy-tools.ts'
import { toFilter } from './list-search.ts'
import type { ListSearch } from './list-search.ts'

const words = text.deployments
const route = getRouteApi('/app/deployments')

// Lists are seldom empty, and only the first visit needs the deploy dialog.
const EmptyList = lazyPart(() => import('./empty-list.tsx').then((module) => module.EmptyList))
const Paging = lazyPart(() => import('../../components/paging.tsx').then((module) => module.Paging))
const FirstRun = lazyPart(() => import('./first-run.tsx').then((module) => module.FirstRun))

/** As many shared deployments as a first visit shows at most */
const fewShared = 8

/** Whether the person has ever created a deployment, including terminated ones. */
const everDeployedQuery = queryOptions({
  queryKey: ['deployments', 'ever'],
  queryFn: async ({ signal }) =>
    (await callApi('GET', '/api/v1/model-deployments', { query: { limit: 1 }, signal })).total > 0,
})

/** The deployments that the person may call, their own, or those of the organization. */
export function DeploymentsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const can = useCan()
  const filter = toFilter(search)
  const { whose, all, page } = filter
  const { user } = useSession()
  const list = useQuery(deploymentsQuery(filter))
  const { data, isPlaceholderData } = list
  const isEmpty = data?.total === 0 && !isPlaceholderData
  const isFiltered = (search.q ?? search.status ?? search.owner) !== undefined
  // Few, and none of them own: perhaps a first visit, which begins with what the team shares.
  const mayBeFirst =
    whose === undefined &&
    !isFiltered &&
    data !== undefined &&
    data.total <= fewShared &&
    !isPlaceholderData &&
    data.items.every(({ user_id }) => user_id !== String(user.id))
  const ever = useQuery({ ...everDeployedQuery, enabled: mayBeFirst })
  const isFirstRun = mayBeFirst && ever.data === false
  const [selection, setSelection] = useState<Selection>(new Set())
  const selected = data?.items.filter(({ id }) => selection.has(id)) ?? []
  const change = (changes: ListSearch) =>
    void navigate({ search: { ...search, page: undefined, ...changes }, replace: true, resetScroll: false })
  return (
    <Page
      {...text.pages.deployments}
      {...(whose === 'team' && {
        description: text.team.description[can('manageDeployments') ? 'all' : 'shared'],
      })}
      actions={
        <>
          <SegmentedControl
            label={text.team.whose}
            value={whose ?? 'callable'}
            onValueChange={(one) => change({ whose: one === 'callable' ? undefined : one })}
            options={[
              { value: 'callable', label: text.team.callable },
              { value: 'own', label: text.team.own },
              { value: 'team', label: text.team.team },
            ]}
          />
          <SegmentedControl
            label={words.filter}
            value={all ? 'all' : 'active'}
            onValueChange={(show) => change({ show: show === 'all' ? 'all' : undefined })}
            options={[
              { value: 'active', label: words.active },
              { value: 'all', label: words.all },
            ]}
          />
          {can('createDeployments') && (
            <Button asChild variant="primary">
              <Link to="/catalog">{words.deploy}</Link>
            </Button>
          )}
        </>
      }
    >
      {!isFirstRun && (isFiltered || !isEmpty) && (
        <div className="grid gap-4">
          <div className="min-h-6 max-sm:min-h-12">
            <Suspense>{data && <ListStrip />}</Suspense>
          </div>
          <div className="min-h-9 max-sm:min-h-20">
            <Suspense>{data && <ListFilters search={search} page={data} onChange={change} />}</Suspense>
          </div>
        </div>
      )}
      <Section flush>
        <Loaded query={{ ...list, data: mayBeFirst && ever.isPending ? undefined : data }}>
          {({ items, total }) =>
            isFirstRun ? (
              <Suspense fallback={<SkeletonRows />}>
                <FirstRun />
              </Suspense>
            ) : items.length === 0 ? (
              <Suspense fallback={<SkeletonRows />}>
                <EmptyList search={search} isBeyondEnd={total > 0} />
              </Suspense>
            ) : (
              <>
                <DeploymentsTable
                  deployments={items}
                  stale={isPlaceholderData}
                  whose={whose}
                  selection={selection}
                  onSelect={setSelection}
                />
                <Suspense>
                  {total > pageSize && (
                    <Paging
                      page={page}
                      pageSize={pageSize}
                      total={total}
                      renderLink={(to, label) => (
                        <Link to="/deployments" search={{ ...search, page: to }}>
                          {label}
                        </Link>
                      )}
                    />
                  )}
                </Suspense>
              </>
            )
          }
        </Loaded>
      </Section>
      <Suspense>
        {selection.size > 0 && (
          <BulkBar deployments={selected} page={data?.items ?? []} onSelect={setSelection} />
        )}
      </Suspense>
    </Page>
  )
}
