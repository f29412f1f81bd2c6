import { sql } from 'kysely'
import { z } from 'zod'
import type { Database } from '../database/tables.ts'
import { ApplicationError } from '../base/errors.ts'
import type { App } from './app.ts'
import { storageFull } from './errors.ts'

const okBody = z.object({ status: z.literal('ok').describe('Always `ok`') }).describe('The check passed')
const tags = ['Service']

/** `/healthz`: the database responds. `/readyz`: the server also accepts requests, and its disks have space. */
export function healthRoutes(app: App, { db }: { db: Database }): void {
  let checking: Promise<unknown> | null = null
  /** Requests that arrive meanwhile share the query, so that a flood costs few. */
  async function checkDatabase(): Promise<void> {
    checking ??= sql`SELECT 1`.execute(db).finally(() => (checking = null))
    try {
      await checking
    } catch (error) {
      app.log.error({ err: error }, 'the database does not respond')
      throw new ApplicationError('database_unavailable', 'The database does not respond.', 5)
    }
  }

  app.get(
    '/healthz',
    {
      config: { anyHost: true },
      schema: {
        operationId: 'getHealth',
        summary: 'Check that the server is healthy',
        tags,
        security: [],
        response: { 200: okBody },
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
      config: { anyHost: true },
      schema: {
        operationId: 'getReadiness',
        summary: 'Check that the server accepts requests',
        tags,
        security: [],
        response: { 200: okBody },
        errors: ['draining'],
      },
    },
    async () => {
      if (app.shuttingDown.signal.aborted) {
        throw new ApplicationError('draining', 'The server is shutting down.', 5)
      }
      if (await app.storage.isFull()) throw storageFull()
      await checkDatabase()
      return { status: 'ok' as const }
    },
  )
}
