import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeftRight, FileQuestion } from 'lucide-react'
import { isNotFound } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DateRangeFields } from '../../components/date-range-fields.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import { requestsQuery } from './request-queries.ts'
import { statusClasses } from './request-search.ts'
import type { RequestSearch } from './request-search.ts'
import { RequestTable } from './request-table.tsx'

const words = text.requests
const route = getRouteApi('/app/usage/requests')

/** One’s own requests to models, or everybody’s to a deployment. The address has the filters. */
export function RequestsPage() {
  const search = route.useSearch()
  const { deployment, ...filter } = search
  const query = useInfiniteQuery(requestsQuery(search))
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  if (deployment !== undefined && isNotFound(query.error))
    return <DeploymentGone wasSeen={query.data !== undefined} />
  return (
    <Page
      title={deployment === undefined ? words.title : words.ofDeployment}
      description={deployment === undefined ? words.description : words.ofDeploymentDescription}
      before={<BackLink deployment={deployment} />}
    >
      <Section flush>
        <Filters search={search} />
        <Loaded query={query}>
          {({ pages }) =>
            pages[0]!.items.length === 0 ? (
              <EmptyState icon={<ArrowLeftRight />} title={isFiltered ? words.noneMatch : words.none}>
                {isFiltered ? words.noneMatchHint : words.noneHint}
              </EmptyState>
            ) : (
              <RequestTable
                items={pages.flatMap(({ items }) => items)}
                currency={pages[0]!.currency}
                ofDeployment={deployment !== undefined}
              />
            )
          }
        </Loaded>
        {query.hasNextPage && (
          <div className="grid justify-center border-t p-3">
            <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              {words.more}
            </Button>
          </div>
        )}
      </Section>
    </Page>
  )
}

/** Instead of the requests to a deployment that the person can't see, or no longer. */
function DeploymentGone({ wasSeen }: { wasSeen: boolean }) {
  const { goneTitle, gone, notFoundTitle, notFound } = text.deployment
  return (
    <Page title={words.ofDeployment} before={<BackLink deployment={undefined} />}>
      <Section flush>
        <EmptyState icon={<FileQuestion />} title={wasSeen ? goneTitle : notFoundTitle}>
          {wasSeen ? gone : notFound}
        </EmptyState>
      </Section>
    </Page>
  )
}

function BackLink({ deployment }: { deployment: string | undefined }) {
  return deployment === undefined ? (
    <Link to="/usage" className="back-link">
      {words.toUsage}
    </Link>
  ) : (
    <Link to="/deployments/$deploymentId" params={{ deploymentId: deployment }} className="back-link">
      {words.toDeployment}
    </Link>
  )
}

function Filters({ search }: { search: RequestSearch }) {
  const navigate = route.useNavigate()
  const change = (changes: RequestSearch) =>
    void navigate({
      search: (previous) => ({ ...previous, ...changes }),
      replace: true,
      resetScroll: false,
    })
  return (
    <div className="grid gap-3 border-b p-5 sm:grid-cols-2 lg:grid-cols-4">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const model = new FormData(event.currentTarget).get('model')
          change({ model: (typeof model === 'string' && model.trim()) || undefined })
        }}
      >
        <TextField
          name="model"
          label={words.model}
          placeholder={words.anyModel}
          maxLength={200}
          defaultValue={search.model}
          onBlur={({ currentTarget }) => currentTarget.form?.requestSubmit()}
        />
      </form>
      <SelectField
        label={words.status}
        value={search.status ?? ''}
        onChange={({ target }) => change({ status: statusClasses.find((one) => one === target.value) })}
      >
        <option value="">{words.anyStatus}</option>
        {statusClasses.map((status) => (
          <option key={status} value={status}>
            {words.statuses[status]}
          </option>
        ))}
      </SelectField>
      <DateRangeFields labels={words} range={search} onChange={change} />
    </div>
  )
}
