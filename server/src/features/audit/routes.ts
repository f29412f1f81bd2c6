import type { App } from '../../http/app.ts'
import { sendCsv, wantsCsv } from '../../http/csv.ts'
import { jsonOrCsv } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { recordAction } from './record-action.ts'
import { auditCsvColumns, auditLogBody, auditQuery, toAuditCsvRow, toAuditItem, toFilter } from './schemas.ts'
import { exportActions, listActions } from './store.ts'

export function auditRoutes(app: App, { db }: Pick<Services, 'db'>): void {
  app.get(
    '/v1/organization/audit-log',
    {
      config: { permission: 'readAuditLog' },
      schema: {
        operationId: 'listAuditLog',
        summary: 'List who did what in your current organization, newest first',
        description:
          'With `Accept: text/csv` the response is a file with all matching rows; `limit` and `offset` do not apply. Values that a ' +
          'spreadsheet would read as a formula start with an apostrophe.',
        tags: ['Organization'],
        querystring: auditQuery,
        response: { 200: jsonOrCsv(auditLogBody) },
      },
    },
    async (request, reply) => {
      const { query, viewer } = request
      const filter = toFilter(query, viewer.organizationId)
      if (wantsCsv(request)) {
        const target = {
          type: 'organization',
          id: viewer.organizationId,
          name: viewer.organizationName,
        } as const
        await recordAction(db, viewer, 'organization.audit_log_exported', { target })
        return sendCsv(reply, 'audit-log.csv', auditCsvColumns, exportActions(db, filter), toAuditCsvRow)
      }
      const { items, total } = await listActions(db, filter, query)
      return { items: items.map(toAuditItem), total, limit: query.limit, offset: query.offset }
    },
  )
}
