import { useQuery, queryOptions } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Suspense } from 'react'
import { callApi } from '../../api/client.ts'
import { useCan, useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Page, Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { pageSize, deploymentsQuery } from '../../domain/deployments/queries.ts'
import { formatNumber } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { DeploymentsTable } from './deployments-table.tsx'
import { toFilter } from './list-search.ts'
import type { ListSearch } from './list-search.ts'

const words = text.deployments
const route = getRouteApi('/app/deployments')

// Lists are seldom empty, and only the first visit needs the deploy dialog.
const EmptyList = lazyPart(() => import('./empty-list.tsx').then((module) => module.EmptyList))
const ListFilters = lazyPart(() => import('./list-filters.tsx').then((module) => module.ListFilters))
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
  const { data, error, refetch, isPlaceholderData } = useQuery(deploymentsQuery(filter))
  const isEmpty = data?.total === 0 && !isPlaceholderData
  const isFiltered = search.q !== undefined || search.status !== undefined
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
        <div className="min-h-9">
          <Suspense>
            {data && <ListFilters search={search} counts={data.counts} onChange={change} />}
          </Suspense>
        </div>
      )}
      <Section flush>
        {data === undefined || (mayBeFirst && ever.isPending) ? (
          error ? (
            <ErrorState error={error} onRetry={() => void refetch()} />
          ) : (
            <SkeletonRows />
          )
        ) : isFirstRun ? (
          <Suspense fallback={<SkeletonRows />}>
            <FirstRun />
          </Suspense>
        ) : data.items.length === 0 ? (
          <Suspense fallback={<SkeletonRows />}>
            <EmptyList search={search} isBeyondEnd={data.total > 0} />
          </Suspense>
        ) : (
          <>
            <DeploymentsTable deployments={data.items} stale={isPlaceholderData} whose={whose} />
            {data.total > pageSize && <Pages search={search} page={page} total={data.total} />}
          </>
        )}
      </Section>
    </Page>
  )
}

function Pages({ search, page, total }: { search: ListSearch; page: number; total: number }) {
  const last = Math.ceil(total / pageSize)
  const turn = (to: number, label: string) =>
    to < 1 || to > last ? (
      <Button size="small" disabled>
        {label}
      </Button>
    ) : (
      <Button asChild size="small">
        <Link to="/deployments" search={{ ...search, page: to === 1 ? undefined : String(to) }}>
          {label}
        </Link>
      </Button>
    )
  return (
    <nav aria-label={words.pages} className="flex items-center justify-between gap-4 border-t px-5 py-3">
      <p className="tabular text-muted">
        {words.range(
          formatNumber((page - 1) * pageSize + 1),
          formatNumber(Math.min(total, page * pageSize)),
          formatNumber(total),
        )}
      </p>
      <div className="flex gap-2">
        {turn(page - 1, words.previous)}
        {turn(page + 1, words.next)}
      </div>
    </nav>
  )
}
