import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkBudgets } from '../../../../src/features/billing/budgets/check-budgets.ts'
import { deliverAlert } from '../../../../src/features/alerts/deliver-alert.ts'
import { maxPending, queueMessage } from '../../../../src/features/alerts/queue-alert.ts'
import type { AlertDestination } from '../../../../src/features/alerts/tables.ts'
import type { Jobs } from '../../../../src/jobs/queue.ts'
import { waitForStatus } from '../../../support/deployments.ts'
import { joinClient, registerProven } from '../../../support/organizations.ts'
import type { Account } from '../../../support/organizations.ts'
import { createScriptedRuntime, makeOffer } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'
import { startWebhookReceiver } from '../../../support/webhook-receiver.ts'
import type { WebhookReceiver } from '../../../support/webhook-receiver.ts'

const path = '/v1/organization/alert-webhook'
const operatorSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const runtime = createScriptedRuntime()

let server: TestServer
let receiver: WebhookReceiver
let operator: WebhookReceiver
let owner: Account
beforeAll(async () => {
  receiver = await startWebhookReceiver()
  operator = await startWebhookReceiver()
  server = await startTestServer({
    runtime,
    settings: {
      ALERT_WEBHOOK_URL: operator.url,
      ALERT_WEBHOOK_SECRET: operatorSecret,
      WEBHOOK_NETWORKS: '127.0.0.0/8',
    },
  })
})
afterAll(async () => {
  await server.close()
  await receiver.close()
  await operator.close()
})
beforeEach(async () => {
  runtime.reset()
  receiver.received.length = 0
  operator.received.length = 0
  owner = await registerProven(server)
})

async function setWebhook(url = receiver.url): Promise<string> {
  const { status, body } = await owner.patch(path, { url })
  expect([status, body.url]).toEqual([200, url])
  return body.secret
}

async function waitForLastAlert(expected: object) {
  await expect.poll(async () => (await owner.get(path)).body.last_alert).toMatchObject(expected)
  return (await owner.get(path)).body.last_alert
}

/** Adds a test alert that no job delivers. Returns a function that makes one attempt. */
async function queueByHand(config = server.application.config): Promise<() => Promise<void>> {
  const jobs: Jobs = { ...server.application.jobs, enqueue: async () => {} }
  const deps = { ...server.application, config, jobs }
  const { id: organizationId } = (await owner.get('/v1/organization')).body
  const id = await deps.db
    .transaction()
    .execute((transaction) =>
      queueMessage(deps, transaction, organizationId, 'organization', { type: 'webhook.test', data: {} }),
    )
  return () => deliverAlert(deps, id)
}

describe('/v1/organization/alert-webhook', () => {
  test('admins set, read, test, rotate and delete it; the secret is shown once; the audit log has each change', async () => {
    expect((await owner.get(path)).status).toBe(404)
    const secret = await setWebhook()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    // Another URL keeps the secret.
    expect(await setWebhook(`${receiver.url}&again`)).toBeNull()
    expect((await owner.get(path)).body).toEqual({
      url: `${receiver.url}&again`,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      last_alert: null,
    })
    const { id } = (await owner.post(`${path}/test`)).body
    const [alert] = await receiver.waitForAlerts('webhook.test', secret)
    expect(alert).toMatchObject({ type: 'webhook.test', data: { organization_id: expect.any(Number) } })
    expect(receiver.received[0]).toMatchObject({ id })
    await waitForLastAlert({ id, status: 'delivered', attempts: 1, error: null })
    const again = await owner.post(`${path}/test`)
    expect([again.status, again.body.code]).toEqual([429, 'rate_limited'])

    const rotated = (await owner.post(`${path}/secret`)).body.secret
    expect(rotated).not.toBe(secret)
    await server.application.db.deleteFrom('webhook_messages').execute()
    receiver.received.length = 0
    await owner.post(`${path}/test`)
    await receiver.waitForAlerts('webhook.test', rotated)
    await expect(receiver.waitForAlerts('webhook.test', secret)).rejects.toThrow('No matching signature')

    expect((await owner.delete(path)).status).toBe(204)
    expect((await owner.get(path)).status).toBe(404)
    const { body: log } = await owner.get('/v1/organization/audit-log')
    const actions = log.items.map(({ action }: { action: string }) => action)
    expect(actions.filter((action: string) => action.startsWith('webhook.')).toReversed()).toEqual([
      'webhook.updated',
      'webhook.updated',
      'webhook.tested',
      'webhook.secret_rotated',
      'webhook.tested',
      'webhook.deleted',
    ])
    const { host } = new URL(receiver.url)
    const updates = log.items.filter(({ action }: { action: string }) => action === 'webhook.updated')
    expect(updates.map(({ details }: { details: object }) => details)).toEqual([
      { host, before: { host } },
      { host },
    ])
    expect(JSON.stringify(log)).not.toContain(secret.slice(6))
    const member = await joinClient(server, owner, 'member')
    expect((await member.get(path)).status).toBe(403)
  })

  test.each([
    'http://[::1]/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://0xa000001/',
    'https://user:password@alerts.example.com/',
    'ftp://alerts.example.com/',
    'alerts',
  ])('%s is a 422', async (url) => {
    const { status, body } = await owner.patch(path, { url })
    expect([status, body.code, body.errors[0].field]).toEqual([422, 'validation_failed', 'url'])
  })

  test('a failed delivery is repeated by the queue with the same id and body', async () => {
    const secret = await setWebhook()
    receiver.answers.push((_, response) => response.writeHead(500).end())
    const { id } = (await owner.post(`${path}/test`)).body
    await waitForLastAlert({ id, status: 'delivered', attempts: 2, error: null })
    const [first, second] = await receiver.waitForAlerts('webhook.test', secret, 2)
    expect(second).toEqual(first)
    expect(receiver.received.map((each) => each.id)).toEqual([id, id])
  })

  test('redirects are not followed, an endless answer is cut, a receiver that is gone gets no more', async () => {
    await setWebhook()
    const deliver = await queueByHand()
    receiver.answers.push(
      (_, response) => response.writeHead(302, { location: operator.url }).end(),
      (_, response) => void response.writeHead(500).write('x'.repeat(100_000)),
      (request) => request.socket.destroy(),
      (_, response) => response.writeHead(410).end(),
    )
    for (const [status, error] of [
      ['pending', 'The receiver answered 302. Redirects are not followed.'],
      ['pending', 'The receiver answered 500.'],
      ['pending', 'The receiver could not be reached (UND_ERR_SOCKET).'],
      ['failed', 'The receiver answered 410: it is gone.'],
      ['failed', 'The receiver answered 410: it is gone.'],
    ]) {
      await deliver()
      expect((await owner.get(path)).body.last_alert).toMatchObject({ status, error })
    }
    expect(receiver.received).toHaveLength(4)
    expect(operator.received).toEqual([])
  })

  test('of the alerts that wait for a receiver that is down, the oldest are dropped; those of others stay', async () => {
    await setWebhook()
    const stranger = await registerProven(server)
    const { db } = server.application
    const [own, foreign] = await Promise.all(
      [owner, stranger].map(async (client) => (await client.get('/v1/organization')).body.id as number),
    )
    // As if they had waited for days. A delivered one is no longer waiting.
    const insert = (organizationId: number, destination: string, status: string, count: number) =>
      sql`
      INSERT INTO webhook_messages (id, organization_id, destination, type, body, status, created_at, finished_at)
      SELECT concat_ws('-', ${organizationId}::bigint, ${destination}::text, ${status}::text, number), ${organizationId},
        ${destination}, 'webhook.test', '{}', ${status}, now() - interval '2 days' + number * interval '1 second',
        CASE WHEN ${status} = 'pending' THEN NULL ELSE now() END
      FROM generate_series(1, ${count}::integer) AS number`.execute(db)
    await insert(own!, 'organization', 'pending', maxPending + 3)
    await insert(own!, 'organization', 'delivered', 1)
    await insert(own!, 'operator', 'pending', 2)
    await insert(foreign!, 'organization', 'pending', 2)
    await queueByHand()
    const list = async (
      organizationId: number,
      destination: AlertDestination,
      status: 'pending' | 'delivered',
    ) => {
      const rows = await db
        .selectFrom('webhook_messages')
        .select('id')
        .where('organization_id', '=', organizationId)
        .where('destination', '=', destination)
        .where('status', '=', status)
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map(({ id }) => id)
    }
    const waiting = await list(own!, 'organization', 'pending')
    expect(waiting).toHaveLength(maxPending)
    expect(waiting[0]).toBe(`${own}-organization-pending-5`)
    expect(waiting.at(-1)).toMatch(/^msg_/)
    expect(await list(own!, 'organization', 'delivered')).toHaveLength(1)
    expect(await list(own!, 'operator', 'pending')).toHaveLength(2)
    expect(await list(foreign!, 'organization', 'pending')).toHaveLength(2)
  })

  test('a name that resolves to the network of the server is refused when the connection is made', async () => {
    await setWebhook('https://localhost.example.invalid/')
    const { db } = server.application
    await db.updateTable('webhooks').set({ url: 'https://localhost:1/' }).execute()
    const { config } = server.application
    const deliver = await queueByHand({ ...config, alerts: { ...config.alerts, networks: [] } })
    await deliver()
    expect((await owner.get(path)).body.last_alert).toMatchObject({
      status: 'failed',
      error: 'localhost has an address that webhooks may not reach.',
    })
  })

  test('the organization and the operator get budgets that reach a percentage, failed deployments and refused capacity', async () => {
    const secret = await setWebhook()
    runtime.answer({
      listOffers: () => [makeOffer('small'), makeOffer('large', { memoryBytes: 64 * 2 ** 30 })],
      provision: () => ({ outcome: 'refused', code: 'no_capacity', message: 'Sold out.' }),
    })
    const { body: deployment } = await owner.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
    await waitForStatus(owner, deployment.id, 'failed')
    const about = { deployment_id: deployment.id, model_name: 'berth-tiny', user_id: expect.any(Number) }
    for (const [place, key] of [
      [receiver, secret],
      [operator, operatorSecret],
    ] as const) {
      const refused = await place.waitForAlerts('capacity.refused', key, 2)
      expect(new Set(refused.map(({ data }) => data.instance_type))).toEqual(new Set(['large', 'small']))
      expect(refused[0].data).toMatchObject({ ...about, reason: 'no_capacity: Sold out.' })
      const [failed] = await place.waitForAlerts('deployment.failed', key)
      expect(failed.data).toMatchObject({ ...about, failure_reason: 'no_capacity: Sold out.' })
    }

    runtime.reset()
    const budget = { scope: 'organization', monthly_limit: '0.000001', at_limit: 'notify' }
    const { id } = (await owner.post('/v1/billing/budgets', budget)).body
    const { body } = await owner.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
    await waitForStatus(owner, body.id, 'running')
    await expect
      .poll(async () => {
        await checkBudgets(server.application)
        return (await owner.get('/v1/billing/budgets')).body[0].alerts.length
      })
      .toBe(3)
    const alerts = await receiver.waitForAlerts('budget.reached', secret, 3)
    expect(alerts.map(({ data }) => data.percent).toSorted((one, other) => one - other)).toEqual([
      50, 80, 100,
    ])
    expect(alerts[0].data).toMatchObject({ budget_id: id, scope: 'organization', monthly_limit: '0.000001' })
    await operator.waitForAlerts('budget.reached', operatorSecret, 3)
  })
})
