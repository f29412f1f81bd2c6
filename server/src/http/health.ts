import { z } from 'zod'
import { describeClockDifference } from '../database/database-clock.ts'
import { DatabaseWatch } from '../database/database-watch.ts'
import type { DatabaseOutage } from '../database/database-watch.ts'
import type { Database } from '../database/tables.ts'
import { outageMilliseconds } from '../database/notified-cache.ts'
import { ApplicationError } from '../base/errors.ts'
import { version } from '../base/version.ts'
import type { App } from './app.ts'
import { storageFull } from './errors.ts'

const okBody = z.object({ status: z.literal('ok').describe('Always `ok`') }).describe('The check passed')
const readyBody = z
  .object({
    status: z
      .enum(['ok', 'degraded'])
      .describe('`degraded`: requests to running deployments of known callers work, changes fail'),
    database: z.string().optional().describe('Since when the database is unreachable or read-only'),
    storage: z.string().optional().describe('`full` if a disk has no space'),
    clock: z
      .string()
      .optional()
      .describe("How far this host's clock is from the database's, from five seconds on"),
  })
  .describe('The server accepts requests')
const readyQuery = z.object({
  database: z
    .enum(['required'])
    .optional()
    .describe('`required`: a degraded server is not ready, for routes besides inference'),
})
const versionBody = z.object({ version: z.string().describe('The version of Berth') }).describe('The version')
const tags = ['Service']

/** `/healthz`: the database responds. `/readyz`: the server accepts requests. */
export function healthRoutes(app: App, { db, clock }: { db: Database; clock: () => Date }): void {
  const watch = new DatabaseWatch(db, app.log)

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
        if ((await watch.check())?.kind === 'unreachable') throw databaseUnavailable()
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
        querystring: readyQuery,
        response: { 200: readyBody },
        errors: ['server_draining'],
      },
    },
    async ({ query }) => {
      if (app.shuttingDown.signal.aborted) {
        throw new ApplicationError('server_draining', 'The server is shutting down.', 5)
      }
      const [outage, isFull] = await Promise.all([watch.check(), app.storage.isFull()])
      if (query.database === 'required') {
        if (outage !== null) throw databaseUnavailable()
        if (isFull) throw storageFull()
      }
      // By now nobody is known: see `createNotifiedCache`.
      if (outage?.kind === 'unreachable' && performance.now() - outage.startedAt > outageMilliseconds) {
        throw databaseUnavailable()
      }
      const difference = describeClockDifference(clock)
      return {
        status: outage === null && !isFull ? ('ok' as const) : ('degraded' as const),
        ...(difference === null ? {} : { clock: difference }),
        ...(outage === null ? {} : { database: describeOutage(outage) }),
        ...(isFull ? { storage: 'full' } : {}),
      }
    },
  )
}

function describeOutage({ kind, since }: DatabaseOutage): string {
  return `${kind === 'read_only' ? 'read-only' : 'unreachable'} since ${since.toISOString()}`
}

function databaseUnavailable(): ApplicationError {
  return new ApplicationError('database_unavailable', 'The database does not accept changes.', 5)
}
