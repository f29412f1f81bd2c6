import { useQuery } from '@tanstack/react-query'
import { Badge } from '../../components/badge.tsx'
import { Figure, Section } from '../../components/page.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import type { InstallationHealth } from '../../contract.ts'
import { formatMoment, formatNumber, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { Loaded } from '../../components/loaded.tsx'
import { healthQuery } from './queries.ts'

const words = text.server

/** The work in the background, anomalies of usage, and the servers that Berth uses. */
export function HealthView() {
  return (
    <Loaded frame={{ flush: true }} query={useQuery(healthQuery)}>
      {(health) => (
        <>
          <Section title={words.work}>
            <dl className="grid grid-cols-2 gap-5 sm:grid-cols-3 lg:grid-cols-5">
              <Figure label={words.deploymentsOverdue} value={formatNumber(health.deployments_overdue)} />
              <Figure label={words.jobsOverdue} value={formatNumber(health.jobs_overdue)} />
              <Figure label={words.jobsFailed} value={formatNumber(health.jobs_failed)} />
              <Figure
                label={words.settled}
                value={health.settled_at === null ? words.never : formatRelative(health.settled_at)}
              />
              <Figure
                label={words.unsent}
                value={health.unsent_since === null ? words.allSent : formatMoment(health.unsent_since)}
              />
            </dl>
          </Section>
          <Services services={health.services} />
          <Anomalies anomalies={health.anomalies} />
        </>
      )}
    </Loaded>
  )
}

function Services({ services }: Pick<InstallationHealth, 'services'>) {
  return (
    <Section title={words.services} flush>
      {services.length === 0 ? (
        <p className="p-5 text-muted">{words.noServices}</p>
      ) : (
        <Table
          label={words.services}
          head={
            <>
              <HeadCell>{words.service}</HeadCell>
              <HeadCell>{words.status}</HeadCell>
              <HeadCell>{words.since}</HeadCell>
              <HeadCell>{words.answer}</HeadCell>
            </>
          }
        >
          {services.map(({ name, reachable, state, since }) => (
            <tr key={name}>
              <Cell className="font-medium first-letter:uppercase">{name}</Cell>
              <Cell>
                <Badge tone={reachable ? 'good' : 'bad'}>
                  {reachable ? words.reachable : words.unreachable}
                </Badge>
              </Cell>
              <Cell className="whitespace-nowrap text-muted">{formatMoment(since)}</Cell>
              <Cell className="min-w-56 wrap-anywhere text-muted">{state}</Cell>
            </tr>
          ))}
        </Table>
      )}
    </Section>
  )
}

function Anomalies({ anomalies }: Pick<InstallationHealth, 'anomalies'>) {
  return (
    <Section title={words.anomalies} flush>
      {anomalies.length === 0 ? (
        <p className="p-5 text-muted">{words.noAnomalies}</p>
      ) : (
        <Table
          label={words.anomalies}
          head={
            <>
              <HeadCell>{words.anomaly}</HeadCell>
              <HeadCell>{words.organization}</HeadCell>
              <HeadCell>{words.found}</HeadCell>
            </>
          }
        >
          {anomalies.map(({ kind, organization_id: id, opened_at: openedAt }, row) => (
            <tr key={row}>
              <Cell className="font-medium">{text.findings.anomalyKind(kind)}</Cell>
              <Cell>{id ?? words.ofNobody}</Cell>
              <Cell className="whitespace-nowrap text-muted">{formatMoment(openedAt)}</Cell>
            </tr>
          ))}
        </Table>
      )}
    </Section>
  )
}
