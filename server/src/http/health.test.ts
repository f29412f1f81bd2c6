import Fastify from 'fastify'
import { afterEach, expect, test } from 'vitest'
import type { Database } from '../database/tables.ts'
import type { App } from './app.ts'
import { healthRoutes } from './health.ts'

const app = Fastify() as unknown as App
afterEach(() => app.close())

test('/readyz is a server_draining as soon as the server shuts down', async () => {
  app.setSerializerCompiler(() => JSON.stringify)
  app.decorate('shuttingDown', new AbortController())
  app.shuttingDown.abort()
  healthRoutes(app, { db: {} as Database })
  expect((await app.inject('/readyz')).json()).toMatchObject({ code: 'server_draining' })
})
