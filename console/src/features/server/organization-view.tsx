import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { FileQuestion } from 'lucide-react'
import { isNotFound } from '../../api/client.ts'
import { Figure, Page, Section } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { InstanceTable } from './instance-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { organizationDetailQuery } from './queries.ts'

const words = text.server

/** One organization with its instances. */
export function OrganizationView({ id }: { id: number }) {
  const query = useQuery(organizationDetailQuery(id))
  const name = query.data?.name
  return (
    <Page
      title={name ?? words.organization}
      before={<BackLink />}
      description={name !== undefined && words.seen(name)}
    >
      {isNotFound(query.error) ? (
        <Section flush>
          <EmptyState icon={<FileQuestion />} title={words.noSuchOrganization}>
            {words.noSuchOrganizationWords}
          </EmptyState>
        </Section>
      ) : (
        <Loaded frame={{ flush: true }} query={query}>
          {({ status, members, running, cost_this_month: cost, currency, instances }) => (
            <>
              <Section>
                <dl className="grid grid-cols-2 gap-5 sm:grid-cols-4">
                  <Figure label={words.status} value={words.statuses[status] ?? status} />
                  <Figure label={words.members} value={formatNumber(members)} />
                  <Figure label={words.runningNow} value={formatNumber(running)} />
                  <Figure label={words.costThisMonth} value={formatMoney(cost, currency)} />
                </dl>
              </Section>
              <Section title={words.running} flush>
                {instances.length === 0 ? (
                  <p className="p-5 text-muted">{words.nothingOf}</p>
                ) : (
                  <InstanceTable label={words.running} items={instances} ofOne />
                )}
              </Section>
            </>
          )}
        </Loaded>
      )}
    </Page>
  )
}

function BackLink() {
  return (
    <Link to="/server/{-$view}" params={{ view: 'organizations' }} className="back-link">
      {words.allOrganizations}
    </Link>
  )
}
