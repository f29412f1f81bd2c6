import Fastify from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import { connectDatabase } from '../database/connect.ts'
import type { Database } from '../database/tables.ts'
import type { App } from './app.ts'
import { healthRoutes } from './health.ts'

let app: App
afterEach(() => app.close())

/** An app with the routes of probes, without a full disk. */
function buildApp(db: Database, clock = (): Date => new Date()): App {
  const built = Fastify() as unknown as App
  built.setSerializerCompiler(() => JSON.stringify)
  built.setValidatorCompiler(() => () => true)
  built.decorate('shuttingDown', new AbortController())
  built.decorate('storage', { isFull: async () => false, reportFull: () => undefined })
  healthRoutes(built, { db, clock })
  return built
}

test('/readyz is a server_draining as soon as the server shuts down', async () => {
  app = buildApp({} as Database)
  app.shuttingDown.abort()
  expect((await app.inject('/readyz')).json()).toMatchObject({ code: 'server_draining' })
})

test.each([
  [-61_000, '61 s ahead of the database'],
  [3_600_000, '3600 s behind the database'],
  [4_000, undefined],
])(
  '/readyz tells of a clock of this host that is wrong: the database’s is %i ms later',
  async (later, told) => {
    const away = connectDatabase('postgres://somebody@127.0.0.1:1/nowhere', 1, () => {})
    app = buildApp(away.db, () => new Date(Date.now() + later))
    expect((await app.inject('/readyz')).json().clock).toBe(told)
    await away.close()
  },
)

test('/readyz is degraded without the database, and not ready once no session is known anymore', async () => {
  const away = connectDatabase('postgres://somebody@127.0.0.1:1/nowhere', 1, () => {})
  app = buildApp(away.db)
  const isDegraded = async () => (await app.inject('/readyz')).json().status === 'degraded'
  expect(await isDegraded()).toBe(true)
  const now = performance.now.bind(performance)
  const later = vi.spyOn(performance, 'now')
  later.mockImplementation(() => now() + 299_000)
  expect(await isDegraded()).toBe(true)
  later.mockImplementation(() => now() + 301_000)
  expect((await app.inject('/readyz')).json()).toMatchObject({ code: 'database_unavailable' })
  later.mockRestore()
  await away.close()
})
