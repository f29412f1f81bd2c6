import { z } from 'zod'
import { email, entityId, page, pageQuery, pathId, text, timestamp } from '../../http/schemas.ts'
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
    id: entityId.describe('Higher for later actions'),
    at: timestamp.describe('Time of the action'),
    actor: z
      .object({
        user_id: entityId.describe('Id of the user'),
        email: email.describe('Email at the time'),
      })
      .nullable()
      .describe('null for visitors, operators and the server itself'),
    action: z.enum(auditActions).describe('What was done'),
    target: z
      .object({
        type: z.string().describe('Such as `user` or `deployment`'),
        id: z.string().describe('Its id'),
        name: z.string().nullable().describe('Its name at the time'),
      })
      .nullable()
      .describe('What the action changed'),
    address: z.string().nullable().describe('IP address of the caller'),
    user_agent: z.string().nullable().describe('The caller’s browser or program'),
    result: z.enum(['succeeded', 'refused']).describe('`refused` if it was not allowed'),
    details: z.record(z.string(), z.unknown()).describe('Further facts, by action'),
  })
  .meta({ id: 'AuditLogItem', description: 'An action of a person, an operator or the server' })

export const auditLogBody = page(auditItem).meta({
  id: 'AuditLog',
  description: 'A page of the audit log, newest action first',
})

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
