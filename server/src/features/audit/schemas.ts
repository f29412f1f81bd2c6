import { z } from 'zod'
import { page, pageQuery, pathId, text, timestamp } from '../../http/schemas.ts'
import { auditActions } from './actions.ts'
import type { AuditFilter, AuditRow } from './store.ts'

export const auditQuery = pageQuery.extend({
  action: text({ min: 1, max: 100 })
    .optional()
    .describe(`One of ${auditActions.join(', ')}`),
  actor_user_id: pathId.optional().describe('Only actions of this user'),
  from: timestamp.optional().describe('Only actions at or after this time'),
  to: timestamp.optional().describe('Only actions before this time'),
})

export const auditItem = z
  .object({
    id: z.int(),
    at: timestamp,
    actor: z
      .object({ user_id: z.int(), email: z.string() })
      .nullable()
      .describe('null for visitors, operators and the server itself'),
    action: z.enum(auditActions),
    target: z
      .object({ type: z.string(), id: z.string(), name: z.string().nullable() })
      .nullable()
      .describe('What the action changed'),
    address: z.string().nullable().describe('IP address of the caller'),
    user_agent: z.string().nullable(),
    result: z.enum(['succeeded', 'refused']),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditLogItem' })

export const auditLogBody = page(auditItem).meta({ id: 'AuditLog' })

export function toFilter(
  { action, actor_user_id: actorUserId, from, to }: z.output<typeof auditQuery>,
  organizationId: number,
): AuditFilter {
  return { organizationId, action, actorUserId, from: toDate(from), to: toDate(to) }
}

function toDate(moment: string | undefined): Date | undefined {
  return moment === undefined ? undefined : new Date(moment)
}

export function toAuditItem(row: AuditRow): z.infer<typeof auditItem> {
  const { actor_user_id, actor_email, target_type, target_id, target_name } = row
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: actor_user_id === null ? null : { user_id: actor_user_id, email: actor_email ?? '' },
    action: row.action,
    target: target_type === null ? null : { type: target_type, id: target_id!, name: target_name },
    address: row.address,
    user_agent: row.user_agent,
    result: row.result,
    details: row.details,
  }
}

/** A row of the CSV export; `details` is JSON. */
export function toAuditCsvRow(row: AuditRow): Record<string, string | number | null> {
  const { organization_id: _, details, at, ...columns } = row
  return { ...columns, at: at.toISOString(), details: JSON.stringify(details) }
}

export const auditCsvColumns = [
  'id',
  'at',
  'actor_user_id',
  'actor_email',
  'action',
  'target_type',
  'target_id',
  'target_name',
  'address',
  'user_agent',
  'result',
  'details',
]
