import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { createDataDirectory, spawnServer } from '../support/process.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'
import type { WebhookReceiver } from '../support/webhook-receiver.ts'

/** The queue notices within two minutes that the process of a job is gone. */
const patience = 240_000

let receiver: WebhookReceiver
let database: Awaited<ReturnType<typeof createTestDatabase>>
let dataDirectory: string
beforeAll(async () => {
  receiver = await startWebhookReceiver()
  database = await createTestDatabase('migrated')
  dataDirectory = await createDataDirectory()
})
afterAll(async () => {
  await receiver.close()
  await database.drop()
  await rm(dataDirectory, { recursive: true, force: true })
})

function startServer(role: 'api' | 'worker') {
  return spawnServer({
    ROLE: role,
    DATABASE_URL: database.url,
    DATA_DIR: dataDirectory,
    SECRET_KEY: 'k'.repeat(32),
    WEBHOOK_NETWORKS: '127.0.0.0/8',
  })
}

test(
  'a worker killed while it delivers an alert: another one delivers it again with the same webhook-id',
  { timeout: 2 * patience },
  async () => {
    const api = startServer('api')
    const killed = startServer('worker')
    const owner = await registerClient(await api.listening)
    const { body: webhook } = await owner.patch('/v1/organization/alert-webhook', { url: receiver.url })
    // The receiver has the alert, and the worker never learns of it.
    receiver.answers.push(() => killed.child.kill('SIGKILL'))
    const { id } = (await owner.post('/v1/organization/alert-webhook/test')).body
    expect(await killed.exited).toBe('SIGKILL')
    const readLast = async () => (await owner.get('/v1/organization/alert-webhook')).body.last_alert
    expect(await readLast()).toMatchObject({ id, status: 'pending', attempts: 1 })

    const next = startServer('worker')
    try {
      await expect
        .poll(readLast, { timeout: patience, interval: 500 })
        .toMatchObject({ id, status: 'delivered', attempts: 2, error: null })
      const [first, second] = await receiver.waitForAlerts('webhook.test', webhook.secret, 2)
      expect(second).toEqual(first)
      expect(receiver.received.map((each) => each.id)).toEqual([id, id])
    } finally {
      for (const { child, exited } of [next, api]) {
        child.kill('SIGTERM')
        expect(await exited).toBe(0)
      }
    }
  },
)
