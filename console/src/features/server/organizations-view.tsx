import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { OrganizationLink } from './instance-table.tsx'
import { Loaded } from './loaded.tsx'
import { organizationsPageQuery, pageSize } from './queries.ts'

const words = text.server
const route = getRouteApi('/app/server/{-$view}')

/** The organizations in numbers, by name. */
export function OrganizationsView() {
  const page = Math.max(1, Math.trunc(Number(route.useSearch().page)) || 1)
  return (
    <Loaded query={useQuery(organizationsPageQuery(page))}>
      {({ items, total }) => (
        <Section flush>
          <Table
            label={words.views.organizations.title}
            head={
              <>
                <HeadCell>{words.name}</HeadCell>
                <HeadCell numeric>{words.members}</HeadCell>
                <HeadCell numeric>{words.runningNow}</HeadCell>
                <HeadCell numeric>{words.costThisMonth}</HeadCell>
              </>
            }
          >
            {items.map(({ id, name, status, members, running, ...cost }) => (
              <tr key={id}>
                <Cell className="min-w-56">
                  <span className="flex flex-wrap items-center gap-2">
                    <OrganizationLink id={id} name={name} />
                    {status !== 'active' && <Badge tone="warn">{words.statuses[status]}</Badge>}
                  </span>
                </Cell>
                <Cell numeric>{formatNumber(members)}</Cell>
                <Cell numeric>{formatNumber(running)}</Cell>
                <Cell numeric>{formatMoney(cost.cost_this_month, cost.currency)}</Cell>
              </tr>
            ))}
          </Table>
          {total > pageSize && <Pages page={page} total={total} />}
        </Section>
      )}
    </Loaded>
  )
}

function Pages({ page, total }: { page: number; total: number }) {
  const turn = (to: number, label: string) =>
    to < 1 || to > Math.ceil(total / pageSize) ? (
      <Button size="small" disabled>
        {label}
      </Button>
    ) : (
      <Button asChild size="small">
        <Link
          to="/server/{-$view}"
          params={{ view: 'organizations' }}
          search={{ page: to === 1 ? undefined : String(to) }}
        >
          {label}
        </Link>
      </Button>
    )
  const [from, to] = [(page - 1) * pageSize + 1, Math.min(total, page * pageSize)]
  return (
    <nav aria-label={words.pages} className="flex items-center justify-between gap-4 border-t px-5 py-3">
      <p className="tabular text-muted">
        {words.range(formatNumber(from), formatNumber(to), formatNumber(total))}
      </p>
      <div className="flex gap-2">
        {turn(page - 1, words.previous)}
        {turn(page + 1, words.next)}
      </div>
    </nav>
  )
}
