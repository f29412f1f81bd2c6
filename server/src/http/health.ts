import { sql } from 'kysely'
import { z } from 'zod'
import { settlesWithin } from '../database/settles-within.ts'
import type { Database } from '../database/tables.ts'
import { ApplicationError } from '../base/errors.ts'
import { version } from '../base/version.ts'
import type { App } from './app.ts'
import { storageFull } from './errors.ts'

const okBody = z.object({ status: z.literal('ok').describe('Always `ok`') }).describe('The check passed')
const versionBody = z.object({ version: z.string().describe('The version of Berth') }).describe('The version')
const tags = ['Service']
/** Load balancers must notice a frozen database soon. */
const patienceMilliseconds = 1_500

/** `/healthz`: the database responds. `/readyz`: the server accepts requests, and its disks have space. */
export function healthRoutes(app: App, { db }: { db: Database }): void {
  let checking: Promise<unknown> | null = null
  /** Requests that arrive meanwhile share the query, so that a flood costs few. */
  async function checkDatabase(): Promise<void> {
    checking ??= queryOrGiveUp(db).finally(() => (checking = null))
    try {
      await checking
    } catch (error) {
      app.log.error({ err: error }, 'the database does not respond')
      throw new ApplicationError('database_unavailable', 'The database does not respond.', 5)
    }
  }

  // Load tools for vLLM ask `/health` first, and give up after a 404.
  for (const [path, operationId, note] of [
    ['/healthz', 'getHealth', ''],
    ['/health', 'probeHealth', ', where clients of vLLM expect it'],
  ] as const) {
    app.get(
      path,
      {
        config: { anyHost: true },
        schema: {
          operationId,
          summary: `Check that the server is healthy${note}`,
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
  }

  app.get(
    '/version',
    {
      config: { anyHost: true },
      schema: {
        operationId: 'getVersion',
        summary: 'Get the version of Berth, where clients of vLLM expect one',
        tags,
        security: [],
        response: { 200: versionBody },
      },
    },
    () => ({ version }),
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
        errors: ['server_draining'],
      },
    },
    async () => {
      if (app.shuttingDown.signal.aborted) {
        throw new ApplicationError('server_draining', 'The server is shutting down.', 5)
      }
      if (await app.storage.isFull()) throw storageFull()
      await checkDatabase()
      return { status: 'ok' as const }
    },
  )
}

async function queryOrGiveUp(db: Database): Promise<void> {
  const query = sql`SELECT 1`.execute(db)
  if (!(await settlesWithin(query, patienceMilliseconds))) {
    throw new Error(`The database did not respond within ${patienceMilliseconds} ms.`)
  }
  await query
}
