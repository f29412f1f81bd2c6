import Fastify from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import type { App } from './app.ts'
import { takeTurns } from './visitor-turns.ts'

const app = Fastify() as unknown as App
afterEach(() => app.close())

test('four requests of visitors run at a time, the others wait, and other routes are not affected', async () => {
  const gate = Promise.withResolvers<void>()
  let running = 0
  await app.register(async (scope: App) => {
    takeTurns(scope)
    scope.get('/visitors', async () => {
      running += 1
      await gate.promise
      running -= 1
      return 'done'
    })
  })
  app.get('/members', async () => 'done')
  const waiting = Array.from({ length: 504 }, () => app.inject('/visitors'))
  await vi.waitFor(() => expect(running).toBe(4))
  expect((await app.inject('/members')).body).toBe('done')
  const refused = await app.inject('/visitors')
  expect([refused.statusCode, refused.json().code, running]).toEqual([500, 'server_busy', 4])
  gate.resolve()
  const answers = await Promise.all(waiting)
  expect(answers.every(({ body }) => body === 'done')).toBe(true)
})
