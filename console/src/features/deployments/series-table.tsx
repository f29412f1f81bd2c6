import type { DeploymentStatistics } from '../../contract.ts'
import { Disclosure } from '../../components/disclosure.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatMoment } from '../../format.ts'
import { text } from '../../text/index.ts'

type Point = DeploymentStatistics['series'][number]

const words = text.statistics

/** The numbers of charts as a collapsed table, latest first. `empty` replaces a table without points. */
export function SeriesTable({
  label,
  empty,
  points,
  columns,
}: {
  label: string
  empty: string
  points: readonly Point[]
  columns: readonly (readonly [heading: string, format: (point: Point) => string])[]
}) {
  return (
    <Disclosure summary={words.asTable}>
      {points.length === 0 ? (
        <p className="px-4 py-3 text-muted">{empty}</p>
      ) : (
        <div className="max-h-96 overflow-y-auto">
          <Table
            label={label}
            head={
              <>
                <HeadCell>{words.time}</HeadCell>
                {columns.map(([heading]) => (
                  <HeadCell key={heading} numeric>
                    {heading}
                  </HeadCell>
                ))}
              </>
            }
          >
            {points.toReversed().map((point) => (
              <tr key={point.at}>
                <Cell className="whitespace-nowrap">{formatMoment(point.at)}</Cell>
                {columns.map(([heading, format]) => (
                  <Cell key={heading} numeric>
                    {format(point)}
                  </Cell>
                ))}
              </tr>
            ))}
          </Table>
        </div>
      )}
    </Disclosure>
  )
}
