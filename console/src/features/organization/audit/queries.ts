import { infiniteQueryOptions, useMutation } from '@tanstack/react-query'
import type { AuditAction } from '../../../contract.ts'
import { callApi, download } from '../../../api/client.ts'
import { saveFile } from '../../../components/save-file.ts'

export interface AuditFilter {
  action?: AuditAction | undefined
  actorUserId?: number | undefined
  /** First and last day, as in `2026-01-31`, in the person's time zone */
  from?: string | undefined
  to?: string | undefined
}

const pageSize = 50

/** The organization's audit log, newest first, in pages; requires the `readAuditLog` permission. */
export function auditLogQuery(filter: AuditFilter) {
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
export function useExportAuditLog() {
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
