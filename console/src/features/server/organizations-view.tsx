import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Badge } from '../../components/badge.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Paging } from '../../components/paging.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatMoney, formatNumber } from '../../format.ts'
import { toPageNumber } from '../../routing/search.ts'
import { text } from '../../text/index.ts'
import { OrganizationLink } from './instance-table.tsx'
import { organizationsPageQuery, pageSize } from './queries.ts'

const words = text.server
const route = getRouteApi('/app/server/{-$view}')

/** The organizations in numbers, by name. */
export function OrganizationsView() {
  const page = toPageNumber(route.useSearch().page)
  return (
    <Loaded frame={{ flush: true }} query={useQuery(organizationsPageQuery(page))}>
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
          {total > pageSize && (
            <Paging
              page={page}
              pageSize={pageSize}
              total={total}
              renderLink={(to, label) => (
                <Link to="/server/{-$view}" params={{ view: 'organizations' }} search={{ page: to }}>
                  {label}
                </Link>
              )}
            />
          )}
        </Section>
      )}
    </Loaded>
  )
}
