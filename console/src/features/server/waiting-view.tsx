import { useQuery } from '@tanstack/react-query'
import { Section } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import { InstanceTable } from './instance-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { waitingQuery } from './queries.ts'

const words = text.server

/** What waits for hardware, the longest waiting first. */
export function WaitingView() {
  return (
    <Loaded frame={{ flush: true }} query={useQuery(waitingQuery)}>
      {({ items }) => (
        <Section flush>
          {items.length === 0 ? (
            <EmptyState title={words.nothingWaits}>{words.nothingWaitsWords}</EmptyState>
          ) : (
            <InstanceTable label={words.views.waiting.title} items={items} />
          )}
        </Section>
      )}
    </Loaded>
  )
}
