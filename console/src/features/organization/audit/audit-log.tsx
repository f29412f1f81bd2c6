import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Download, ScrollText } from 'lucide-react'
import { useState } from 'react'
import type { AuditAction } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { SelectField, TextField } from '../../../components/field.tsx'
import { Section } from '../../../components/page.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../../components/states.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { membersQuery } from '../../../domain/members/queries.ts'
import { AuditTable } from './audit-table.tsx'
import { auditLogQuery, useExportAuditLog } from './queries.ts'
import type { AuditFilter } from './queries.ts'

const words = text.audit

/** Who did what in the organization, with filters and a CSV export. */
export function AuditLog() {
  const [filter, setFilter] = useState<AuditFilter>({})
  const log = useInfiniteQuery(auditLogQuery(filter))
  const exporting = useExportAuditLog()
  const toasts = useToasts()
  const items = log.data?.pages.flatMap((page) => page.items)
  return (
    <Section
      flush
      title={words.title}
      description={words.description}
      actions={
        <Button
          busy={exporting.isPending}
          onClick={() => exporting.mutate(filter, { onError: toasts.error })}
        >
          <Download aria-hidden />
          {words.export}
        </Button>
      }
    >
      <Filters filter={filter} onChange={setFilter} />
      {items?.length === 0 ? (
        <EmptyState icon={<ScrollText />} title={words.none}>
          {words.noneHint}
        </EmptyState>
      ) : items ? (
        <AuditTable items={items} />
      ) : log.error ? (
        <ErrorState error={log.error} onRetry={() => void log.refetch()} />
      ) : (
        <SkeletonRows count={5} />
      )}
      {log.hasNextPage && (
        <div className="grid justify-center border-t p-3">
          <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            {words.more}
          </Button>
        </div>
      )}
    </Section>
  )
}

/** Cards and the pages of the processor belong to billing. */
function groupOf(action: string): string {
  const [place = ''] = action.split('.')
  return place in words.groups ? place : 'billing'
}

function Filters({ filter, onChange }: { filter: AuditFilter; onChange: (filter: AuditFilter) => void }) {
  const { data: members = [] } = useQuery(membersQuery)
  return (
    <div className="grid gap-3 border-b p-5 sm:grid-cols-2 lg:grid-cols-4">
      <SelectField
        label={words.action}
        value={filter.action ?? ''}
        onChange={({ target }) =>
          onChange({ ...filter, action: (target.value || undefined) as AuditAction | undefined })
        }
      >
        <option value="">{words.anyAction}</option>
        {Object.entries(words.groups).map(([group, label]) => (
          <optgroup key={group} label={label}>
            {Object.entries(words.actions)
              .filter(([action]) => groupOf(action) === group)
              .map(([action, name]) => (
                <option key={action} value={action}>
                  {name}
                </option>
              ))}
          </optgroup>
        ))}
      </SelectField>
      <SelectField
        label={words.actor}
        value={filter.actorUserId ?? ''}
        onChange={({ target }) => onChange({ ...filter, actorUserId: Number(target.value) || undefined })}
      >
        <option value="">{words.anyActor}</option>
        {members.map(({ user_id, name }) => (
          <option key={user_id} value={user_id}>
            {name}
          </option>
        ))}
      </SelectField>
      {(['from', 'to'] as const).map((edge) => (
        <TextField
          key={edge}
          type="date"
          label={words[edge]}
          value={filter[edge] ?? ''}
          onChange={({ target }) => onChange({ ...filter, [edge]: target.value || undefined })}
        />
      ))}
    </div>
  )
}
