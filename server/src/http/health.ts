import { sql } from 'kysely'
import { z } from 'zod'
import type { Database } from '../database/tables.ts'
import { ApplicationError } from '../errors.ts'
import type { App } from './app.ts'
import { problems } from './openapi.ts'

const okBody = z.object({ status: z.literal('ok') })
const tags = ['Service']

/** `/healthz`: the database answers. `/readyz`: and the server takes requests. */
export function healthRoutes(app: App, { db }: { db: Database }): void {
  async function checkDatabase(): Promise<void> {
    try {
      await sql`SELECT 1`.execute(db)
    } catch (error) {
      app.log.error({ err: error }, 'the database does not answer')
      throw new ApplicationError('unavailable', 'database_unavailable', 'The database does not answer.', 5)
    }
  }

  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'getHealth',
        summary: 'Whether the API is healthy',
        tags,
        security: [],
        response: { 200: okBody, ...problems(503) },
      },
    },
    async () => {
      await checkDatabase()
      return { status: 'ok' as const }
    },
  )

  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'getReadiness',
        summary: 'Whether requests should be sent here',
        tags,
        security: [],
        response: { 200: okBody, ...problems(503) },
      },
    },
    async () => {
      if (app.leaving.signal.aborted) {
        throw new ApplicationError('unavailable', 'draining', 'The server is shutting down.', 5)
      }
      await checkDatabase()
      return { status: 'ok' as const }
    },
  )
}
