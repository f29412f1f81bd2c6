import { useInfiniteQuery, useQuery, infiniteQueryOptions, useMutation } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, ScrollText } from 'lucide-react'
import { callApi, download } from '../../../api/client.ts'
import { Loaded } from '../../../components/loaded.tsx'
import { saveFile } from '../../../components/save-file.ts'
import type { AuditAction } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { DateRangeFields } from '../../../components/date-range-fields.tsx'
import { SelectField } from '../../../components/field.tsx'
import { Section } from '../../../components/page.tsx'
import { EmptyState } from '../../../components/states.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { membersQuery } from '../../../domain/members/queries.ts'
import type { AuditSearch } from '../pages.ts'
import { AuditTable } from './audit-table.tsx'

const words = text.audit

const pageSize = 50
const actions = Object.keys(words.actions) as AuditAction[]

/** Who did what in the organization, with filters and a CSV export. */
export function AuditLog() {
  const search = useSearch({ from: '/app/organization' })
  const navigate = useNavigate({ from: '/organization' })
  const filter = toFilter(search)
  const change = (changes: AuditSearch) =>
    void navigate({ search: (before) => ({ ...before, ...changes }), replace: true, resetScroll: false })
  const log = useInfiniteQuery(auditLogQuery(filter))
  const exporting = useExportAuditLog()
  const toasts = useToasts()
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
      <Filters filter={filter} onChange={change} />
      <Loaded query={log}>
        {({ pages }) =>
          pages[0]!.items.length === 0 ? (
            <EmptyState icon={<ScrollText />} title={words.none}>
              {words.noneHint}
            </EmptyState>
          ) : (
            <AuditTable items={pages.flatMap((page) => page.items)} />
          )
        }
      </Loaded>
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

type AuditFilter = Pick<AuditSearch, 'from' | 'to'> & {
  action: AuditAction | undefined
  actorUserId: number | undefined
}

/** The filters without invalid ones. */
const toFilter = ({ action, actor, from, to }: AuditSearch): AuditFilter => ({
  action: actions.find((one) => one === action),
  actorUserId: Number(actor) || undefined,
  from,
  to,
})

/** The organization's audit log, newest first, in pages; requires the `readAuditLog` permission. */
function auditLogQuery(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ['organization', 'audit-log', filter],
    queryFn: ({ pageParam, signal }) =>
      callApi('GET', '/v1/organization/audit-log', {
        query: { ...toQuery(filter), limit: pageSize, offset: pageParam },
        signal,
      }),
    initialPageParam: 0,
    getNextPageParam: ({ offset, total }) => (offset + pageSize < total ? offset + pageSize : undefined),
  })
}

/** Downloads every matching row as a CSV file. */
function useExportAuditLog() {
  return useMutation({
    mutationFn: async (filter: AuditFilter) =>
      saveFile(
        'audit-log.csv',
        await download('/v1/organization/audit-log', 'text/csv', { query: toQuery(filter) }),
      ),
  })
}

function toQuery({ action, actorUserId, from, to }: AuditFilter) {
  return { action, actor_user_id: actorUserId, from: startOfDay(from, 0), to: startOfDay(to, 1) }
}

function startOfDay(day: string | undefined, daysLater: number): string | undefined {
  if (!day) return undefined
  const start = new Date(`${day}T00:00`)
  start.setDate(start.getDate() + daysLater)
  return start.toISOString()
}

/** Cards and the pages of the processor belong to billing. */
function groupOf(action: string): string {
  const [place = ''] = action.split('.')
  return place in words.groups ? place : 'billing'
}

interface FiltersProps {
  filter: AuditFilter
  onChange: (changes: AuditSearch) => void
}

function Filters({ filter, onChange }: FiltersProps) {
  const { data: members = [] } = useQuery(membersQuery)
  return (
    <div className="grid gap-3 border-b p-5 sm:grid-cols-2 lg:grid-cols-4">
      <SelectField
        label={words.action}
        value={filter.action ?? ''}
        onChange={({ target }) => onChange({ action: target.value || undefined })}
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
        onChange={({ target }) => onChange({ actor: target.value || undefined })}
      >
        <option value="">{words.anyActor}</option>
        {members.map(({ user_id, name }) => (
          <option key={user_id} value={user_id}>
            {name}
          </option>
        ))}
      </SelectField>
      <DateRangeFields labels={words} range={filter} onChange={onChange} />
    </div>
  )
}
