import { Table } from '../../components/table.tsx'
import { formatHundredths } from '../../format.ts'
import { text } from '../../text/index.ts'
import type { ComparisonResult } from './comparison.ts'
import { summarize } from './similarity.ts'

/** Maximum percentage of the accent color in a cell that keeps the text readable in both themes. */
const maxShade = 45

/** A matrix of similarities. The color shows the similarity relative to the other pairs. */
export function SimilarityTable({ result }: { result: Pick<ComparisonResult, 'texts' | 'similarities'> }) {
  const { texts, similarities } = result
  const span = summarize(similarities)
  const shareOf = (value: number) => {
    if (!span) return 0
    return span.max === span.min ? 1 : (value - span.min) / (span.max - span.min)
  }
  return (
    <Table
      label={text.embeddings.similarities}
      head={
        <>
          <th scope="col" className="px-5 py-2 font-medium">
            {text.embeddings.textColumn}
          </th>
          {texts.map((words, column) => (
            <th key={column} scope="col" title={words} className="min-w-14 px-2 py-2 text-center font-medium">
              {column + 1}
            </th>
          ))}
        </>
      }
    >
      {texts.map((words, row) => (
        <tr key={row}>
          <th scope="row" className="max-w-44 min-w-28 px-5 py-2 font-normal sm:max-w-64">
            <span className="block truncate" title={words}>
              <span className="tabular pr-2 text-muted">{row + 1}</span>
              {words}
            </span>
          </th>
          {similarities[row]?.map((value, column) => (
            <td
              key={column}
              className="tabular border-l px-2 py-2 text-center"
              style={
                row === column
                  ? undefined
                  : {
                      background: `color-mix(in oklab, var(--accent) ${Math.round(shareOf(value) * maxShade)}%, var(--surface))`,
                    }
              }
            >
              <span className={row === column ? 'text-muted' : ''}>{formatHundredths(value)}</span>
            </td>
          ))}
        </tr>
      ))}
    </Table>
  )
}
