import type { DeploymentStatistics } from '../../contract.ts'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatDuration, formatMoment, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.deployment

/** The numbers of the charts as a collapsed table, without intervals that have no request. */
export function SeriesTable({ statistics }: { statistics: DeploymentStatistics }) {
  const rows = statistics.series.filter(({ requests }) => requests > 0).toReversed()
  return (
    <details className="rounded-lg border">
      <summary className="cursor-pointer rounded-lg px-4 py-2 font-medium hover:bg-subtle">
        {words.asTable}
      </summary>
      {rows.length === 0 ? (
        <p className="border-t px-4 py-3 text-muted">{words.noRequests}</p>
      ) : (
        <div className="max-h-96 overflow-y-auto border-t">
          <Table
            label={words.overTime}
            head={
              <>
                <HeadCell>{words.time}</HeadCell>
                <HeadCell numeric>{words.requests}</HeadCell>
                <HeadCell numeric>{words.errors}</HeadCell>
                <HeadCell numeric>{words.outputTokens}</HeadCell>
                <HeadCell numeric>{`${words.chartDuration} ${words.p50}`}</HeadCell>
                <HeadCell numeric>{`${words.chartDuration} ${words.p95}`}</HeadCell>
              </>
            }
          >
            {rows.map(({ at, requests, errors, output_tokens, duration_p50_ms, duration_p95_ms }) => (
              <tr key={at}>
                <Cell className="whitespace-nowrap">{formatMoment(at)}</Cell>
                <Cell numeric>{formatNumber(requests)}</Cell>
                <Cell numeric>{formatNumber(errors)}</Cell>
                <Cell numeric>{formatNumber(output_tokens)}</Cell>
                <Cell numeric>{formatNullable(duration_p50_ms)}</Cell>
                <Cell numeric>{formatNullable(duration_p95_ms)}</Cell>
              </tr>
            ))}
          </Table>
        </div>
      )}
    </details>
  )
}

function formatNullable(milliseconds: number | null): string {
  return milliseconds === null ? words.noValue : formatDuration(milliseconds)
}
