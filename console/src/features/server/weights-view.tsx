import { useQuery } from '@tanstack/react-query'
import { Badge } from '../../components/badge.tsx'
import { Section } from '../../components/page.tsx'
import { Progress } from '../../components/progress.tsx'
import { EmptyState } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatBytes, formatMoment, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { Loaded } from '../../components/loaded.tsx'
import { weightsQuery } from './queries.ts'

const words = text.server

/** The weights in the cache of the server, the latest used first. */
export function WeightsView() {
  return (
    <Loaded frame={{ flush: true }} query={useQuery(weightsQuery)}>
      {({ items, bytes, limit_bytes: limit }) =>
        items === null || items.length === 0 ? (
          <Section flush>
            <EmptyState title={items === null ? words.weightsElsewhere : words.noWeights}>
              {items === null ? words.weightsElsewhereWords : words.noWeightsWords}
            </EmptyState>
          </Section>
        ) : (
          <Section flush>
            {bytes !== null && limit !== null && (
              <div className="flex items-center gap-4 border-b px-5 py-3">
                <p className="tabular">{words.cacheSize(formatBytes(bytes), formatBytes(limit))}</p>
                <Progress label={words.cacheShare} value={bytes / limit} className="flex-1" />
              </div>
            )}
            <Table
              label={words.views.weights.title}
              head={
                <>
                  <HeadCell>{words.file}</HeadCell>
                  <HeadCell numeric>{words.size}</HeadCell>
                  <HeadCell>{words.lastUsed}</HeadCell>
                </>
              }
            >
              {items.map(({ name, bytes: size, last_used_at: usedAt, in_use: inUse }) => (
                <tr key={name}>
                  <Cell className="min-w-56 wrap-anywhere">{name}</Cell>
                  <Cell numeric className="whitespace-nowrap">
                    {formatBytes(size)}
                  </Cell>
                  <Cell className="whitespace-nowrap text-muted">
                    {inUse ? (
                      <Badge tone="good">{words.inUse}</Badge>
                    ) : (
                      <time dateTime={usedAt} title={formatMoment(usedAt)}>
                        {formatRelative(usedAt)}
                      </time>
                    )}
                  </Cell>
                </tr>
              ))}
            </Table>
          </Section>
        )
      }
    </Loaded>
  )
}
